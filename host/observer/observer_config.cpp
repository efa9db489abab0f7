// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/observer_config.h"

#include <cstdlib>
#include <optional>

#include "config/endpoint.h"
#include "config/settings_table.h"
#include "settings/configuration.h"

namespace wip::observer {
namespace {

// Parses "base=owip-demo-base, terminal=owip-demo-terminal"; empty: the text is not of this form.
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
        config::keys_of(config::process::observer, {{"stations", check_stations}});
    return keys;
}

observer_config translate(config::settings& s) {
    s.finish();
    config::fill_in_run_folder(s);
    const auto v = config::read_observer(s);
    observer_config c;
    if (const char* run = std::getenv("OPENWIP_RUN"); run != nullptr) c.run = run;
    c.user = v.user;
    c.stations = *parse_stations(v.stations);
    c.telemetry_endpoint = v.telemetry;
    c.slots_endpoint = v.slots;
    c.air_endpoint = v.medium;
    c.tcp_every_ms = v.tcp.every_ms;
    c.tcp_search_ms = v.tcp.search_ms;
    c.tcp_flows = v.tcp.flows;
    c.cpu_every_ms = v.cpu.every_ms;
    c.cpu_processes = v.cpu.processes;
    c.air_every_ms = v.air.every_ms;
    for (const auto* e : {config::name::slots, config::name::medium})
        if (s.text(e) == v.telemetry)
            throw s.not_valid(e, "another endpoint than that of telemetry");
    return c;
}

}  // namespace wip::observer
