// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/observer_config.h"

#include <cstdlib>
#include <optional>

#include "config/endpoint.h"
#include "config/settings_table.h"

namespace wip::observer {
namespace {

// "base=owip-demo-base, terminal=owip-demo-terminal"; nothing for what is none.
std::optional<std::vector<station_namespace>> parse_stations(std::string_view text) {
    std::vector<station_namespace> stations;
    while (!text.empty()) {
        const auto comma = std::min(text.find(','), text.size());
        std::string_view entry = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        while (entry.starts_with(' ')) entry.remove_prefix(1);
        const auto equals = entry.find('=');
        if (equals == std::string_view::npos || equals == 0) return std::nullopt;
        const auto network_namespace = entry.substr(equals + 1);
        if (network_namespace.find('/') != std::string_view::npos || network_namespace.size() > 64)
            return std::nullopt;
        stations.push_back({std::string(entry.substr(0, equals)), std::string(network_namespace)});
    }
    return stations.size() <= 32 ? std::optional(stations) : std::nullopt;
}

std::string check_stations(std::string_view text) {
    return parse_stations(text) ? ""
                                : "STATION=NAMESPACE, at most 32, separated by commas; an empty "
                                  "namespace is that of the process";
}

}  // namespace

const std::vector<config::key>& observer_keys() {
    static const auto keys =
        config::settings_table::built_in().keys("observer", {{"stations", check_stations}});
    return keys;
}

observer_config translate(config::settings& s) {
    s.finish();
    for (const auto* e : {"telemetry", "slots", "medium"}) config::fill_in_run_folder(s, e);
    observer_config c;
    if (const char* run = std::getenv("OPENWIP_RUN"); run != nullptr) c.run = run;
    c.user = s.text("user");
    c.stations = *parse_stations(s.text("stations"));
    c.telemetry_endpoint = s.text("telemetry");
    c.slots_endpoint = s.text("slots");
    c.air_endpoint = s.text("medium");
    c.tcp_every_ms = static_cast<int>(s.integer("tcp.every_ms"));
    c.tcp_search_ms = static_cast<int>(s.integer("tcp.search_ms"));
    c.tcp_flows = static_cast<int>(s.integer("tcp.flows"));
    c.cpu_every_ms = static_cast<int>(s.integer("cpu.every_ms"));
    c.cpu_processes = static_cast<int>(s.integer("cpu.processes"));
    c.air_every_ms = static_cast<int>(s.integer("air.every_ms"));
    for (const auto* e : {"slots", "medium"})
        if (s.text(e) == s.text("telemetry")) throw s.refuse(e, "the same endpoint as telemetry");
    return c;
}

}  // namespace wip::observer
