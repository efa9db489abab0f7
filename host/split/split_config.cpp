// SPDX-License-Identifier: GPL-3.0-or-later
#include "split/split_config.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "settings/configuration.h"

namespace wip::split {
namespace {

constexpr std::int64_t most_memory_kb = 1 << 20;  // kB of all connections together

bool is_port(std::string_view text, int& port) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// off, all, or such as 80,443,5001-5010.
std::string check_ports(std::string_view text) {
    const std::string rule = "off, all, or ports and ranges 1..65535 such as 80,5001-5010";
    if (text == "off" || text == "all") return {};
    while (true) {
        const std::string_view item = text.substr(0, text.find(','));
        const auto dash = item.find('-');
        int first = 0, last = 0;
        if (!is_port(item.substr(0, dash), first)) return rule;
        if (dash != std::string_view::npos &&
            (!is_port(item.substr(dash + 1), last) || last <= first))
            return rule;
        if (item.size() == text.size()) return {};
        text.remove_prefix(item.size() + 1);
    }
}

}  // namespace

const std::vector<config::key>& split_keys() {
    static const auto keys =
        config::keys_of(config::process::split, {{"split_ports", check_ports}});
    return keys;
}

split_config translate(config::settings& s) {
    s.finish();
    config::fill_in_run_folder(s);
    const auto v = config::read_split(s);
    const auto& tcp = v.split_tcp;
    split_config c;
    c.user = v.user;
    c.control_endpoint = v.control;
    c.proxy.ports = {static_cast<std::uint16_t>(tcp.listen)};
    c.proxy.buffer_bytes = static_cast<std::size_t>(tcp.buffer_kb) << 10;
    c.proxy.connections = tcp.connections;
    c.proxy.keepalive_s = tcp.keepalive_s;
    if (const auto valid = most_memory_kb / (2 * tcp.connections); tcp.buffer_kb > valid)
        throw s.refuse(config::name::split_tcp_buffer_kb,
                       "both ways of split_tcp.connections = " + std::to_string(tcp.connections) +
                           " are more than 1 GiB; valid with that: 4.." + std::to_string(valid));
    return c;
}

}  // namespace wip::split
