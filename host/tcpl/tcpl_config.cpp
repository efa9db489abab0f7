// SPDX-License-Identifier: GPL-3.0-or-later
#include "tcpl/tcpl_config.h"

#include <algorithm>

#include "config/endpoint.h"
#include "types/number_text.h"

namespace wip::tcpl {
namespace {

using config::key;
using config::kind;

std::string check_namespace(std::string_view text) {
    if (text.find('/') != std::string_view::npos || text.size() > 64)
        return "a name of `ip netns`, or empty";
    return {};
}

// "5300, 5301"; nothing for what is none.
std::optional<std::vector<std::uint16_t>> parse_ports(std::string_view text) {
    std::vector<std::uint16_t> ports;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        std::string_view entry = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        while (entry.starts_with(' ')) entry.remove_prefix(1);
        while (entry.ends_with(' ')) entry.remove_suffix(1);
        const auto port = read_number<std::uint16_t>(entry);
        if (!port || *port == 0) return std::nullopt;
        ports.push_back(*port);
    }
    return ports;
}

std::string check_ports(std::string_view text) {
    return parse_ports(text) ? "" : "port numbers 1..65535 separated by commas, or empty";
}

void add_end(std::vector<key>& keys, const std::string& group, const std::string& address) {
    keys.push_back({.path = group + ".namespace",
                    .doc = "network namespace of the " + group + "; empty: that of the process",
                    .check = check_namespace});
    keys.push_back({.path = group + ".tun",
                    .fallback = "wip0",
                    .doc = "interface that this program makes there",
                    .check = check_interface_name});
    keys.push_back({.path = group + ".address",
                    .fallback = address,
                    .doc = "address of the interface",
                    .check = check_interface_address});
}

std::vector<key> make_keys() {
    std::vector<key> keys{
        {.path = "user",
         .fallback = "nobody",
         .doc = "account to run as once interfaces and sockets are open"},
        {.path = "seed",
         .type = kind::integer,
         .fallback = "1",
         .doc = "of bit errors and losses",
         .lowest = 0,
         .highest = 9e18},
        {.path = "line.rate_kbps",
         .type = kind::real,
         .fallback = "384",
         .doc = "rate of the line, each way; 0 = no limit",
         .unit = "kbit/s",
         .lowest = 0,
         .highest = 1e7},
        {.path = "line.delay_ms",
         .type = kind::real,
         .fallback = "70",
         .doc = "delay of the line, each way",
         .unit = "ms",
         .lowest = 0,
         .highest = 60000},
        {.path = "line.queue_packets",
         .type = kind::integer,
         .fallback = "50",
         .doc = "queue in front of the line, each way, drop tail",
         .unit = "packets",
         .lowest = 1,
         .highest = 100000},
        {.path = "errors.ber",
         .type = kind::real,
         .fallback = "0",
         .doc = "bit error rate towards the receiver",
         .lowest = 0,
         .highest = 0.5},
        {.path = "errors.burstiness",
         .type = kind::real,
         .fallback = "0",
         .doc = "probability that an error is within 8 bits of the last one placed",
         .lowest = 0,
         .highest = 1},
        {.path = "errors.spare_ip_header",
         .type = kind::boolean,
         .fallback = "on",
         .doc = "no errors in IP headers"},
        {.path = "relay.on",
         .type = kind::boolean,
         .fallback = "on",
         .doc = "accept damaged TCP segments of known connections"},
        {.path = "relay.port_errors",
         .type = kind::integer,
         .fallback = "0",
         .doc = "wrong bits in the ports for which a connection is still looked for",
         .lowest = 0,
         .highest = 4},
        {.path = "relay.ports",
         .doc = "local ports of the receiver that take part, separated by commas; empty: all",
         .check = check_ports},
        {.path = "mtu",
         .type = kind::integer,
         .fallback = "1500",
         .doc = "largest IP packet",
         .unit = "bytes",
         .lowest = 68,
         .highest = 65535},
        {.path = "control",
         .fallback = "ipc://RUN/air.control",
         .doc = "control (REP, bound here)",
         .check = config::check_endpoint},
    };
    add_end(keys, "sender", "10.42.0.1/30");
    add_end(keys, "receiver", "10.42.0.2/30");
    return keys;
}

end_config end_from(const config::settings& s, const std::string& group) {
    end_config e;
    e.network_namespace = s.text(group + ".namespace");
    e.tun.name = s.text(group + ".tun");
    e.tun.address = s.text(group + ".address");
    e.tun.mtu = static_cast<int>(s.integer("mtu"));
    return e;
}

}  // namespace

const std::vector<key>& tcpl_keys() {
    static const std::vector<key> keys = make_keys();
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
    line.seed = static_cast<std::uint64_t>(s.integer("seed"));
    c.path.back = line;
    c.path.errors = {s.real("errors.ber"), s.real("errors.burstiness"), line.seed};
    c.path.spare_ip_header = s.flag("errors.spare_ip_header");
    c.path.relay = s.flag("relay.on");
    c.path.recovery.most_port_errors = static_cast<int>(s.integer("relay.port_errors"));
    c.path.recovery.local_ports = *parse_ports(s.text("relay.ports"));
    try {
        line.check();
    } catch (const std::invalid_argument& e) {
        throw config::error(std::string("line.") + e.what());
    }
    return c;
}

}  // namespace wip::tcpl
