// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/tcpl_config.h"

#include "config/endpoint.h"
#include "config/settings_table.h"

namespace wip::tcpl {
namespace {

end_config end_from(const config::settings& s, const std::string& group) {
    end_config e;
    e.network_namespace = s.text(group + ".namespace");
    e.tun.name = s.text(group + ".tun");
    e.tun.address = s.text(group + ".address");
    e.tun.mtu = static_cast<int>(s.integer("mtu"));
    return e;
}

}  // namespace

const std::vector<config::key>& tcpl_keys() {
    static const auto keys = config::settings_table::built_in().keys(
        "tcpl",
        {{"interface_name", check_interface_name}, {"interface_address", check_interface_address}});
    return keys;
}

tcpl_config translate(config::settings& s) {
    s.finish();
    config::fill_in_run_folder(s, "control");
    tcpl_config c;
    c.user = s.text("user");
    c.control_endpoint = s.text("control");
    c.sender = end_from(s, "sender");
    c.receiver = end_from(s, "receiver");
    if (c.sender.network_namespace == c.receiver.network_namespace &&
        c.sender.tun.name == c.receiver.tun.name)
        throw s.refuse("receiver.tun", "the same interface as sender.tun, in one namespace");
    auto& line = c.path.forward;
    line.rate_kbps = s.real("line.rate_kbps");
    line.delay_ms = s.real("line.delay_ms");
    line.queue_packets = static_cast<int>(s.integer("line.queue_packets"));
    line.held_mb = s.real("line.held_mb");
    line.seed = static_cast<std::uint64_t>(s.integer("seed"));
    c.path.back = line;
    c.path.errors = {s.real("errors.ber"), s.real("errors.burstiness"), line.seed};
    c.path.spare_ip_header = s.flag("errors.spare_ip_header");
    c.path.relay = s.flag("relay.on");
    c.path.recovery.most_port_errors = static_cast<int>(s.integer("relay.port_errors"));
    for (const double port : s.numbers("relay.ports"))
        c.path.recovery.local_ports.push_back(static_cast<std::uint16_t>(port));
    try {
        line.check();
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string("line.") + e.what());
    }
    return c;
}

}  // namespace wip::tcpl
