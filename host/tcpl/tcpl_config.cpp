// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/tcpl_config.h"

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "settings/configuration.h"

namespace wip::tcpl {
namespace {

template <class End>
end_config end_from(const End& from, int mtu) {
    end_config e;
    e.network_namespace = from.namespace_;
    e.tun.name = from.tun;
    e.tun.address = from.address;
    e.tun.mtu = mtu;
    return e;
}

}  // namespace

const std::vector<config::key>& tcpl_keys() {
    static const auto keys = config::keys_of(
        config::process::tcpl,
        {{"interface_name", check_interface_name}, {"interface_address", check_interface_address}});
    return keys;
}

tcpl_config translate(config::settings& s) {
    s.finish();
    config::fill_in_run_folder(s);
    const auto v = config::read_tcpl(s);
    tcpl_config c;
    c.user = v.user;
    c.control_endpoint = v.control;
    c.sender = end_from(v.sender, v.mtu);
    c.receiver = end_from(v.receiver, v.mtu);
    if (c.sender.network_namespace == c.receiver.network_namespace &&
        c.sender.tun.name == c.receiver.tun.name)
        throw s.not_valid(config::name::receiver_tun,
                          "another interface than sender.tun in one namespace");
    auto& line = c.path.forward;
    line.rate_kbps = v.line.rate_kbps;
    line.delay_ms = v.line.delay_ms;
    line.queue_packets = v.line.queue_packets;
    line.held_mb = v.line.held_mb;
    line.seed = v.seed;
    c.path.back = line;
    c.path.errors = {v.errors.ber, v.errors.burstiness, v.seed};
    c.path.spare_ip_header = v.errors.spare_ip_header;
    c.path.relay = v.relay.on;
    c.path.recovery.most_port_errors = v.relay.port_errors;
    for (const int port : v.relay.ports)
        c.path.recovery.local_ports.push_back(static_cast<std::uint16_t>(port));
    try {
        line.check();
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string("configuration: ") + e.what());
    }
    return c;
}

}  // namespace wip::tcpl
