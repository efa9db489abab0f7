// SPDX-License-Identifier: GPL-3.0-or-later
#include "observer/observer_config.h"

#include <cstdlib>
#include <optional>

#include "config/endpoint.h"

namespace wip::observer {
namespace {

using config::key;
using config::kind;

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

std::string check_endpoint_or_none(std::string_view text) {
    return text.empty() ? std::string() : config::check_endpoint(text);
}

key every(const std::string& path, const std::string& fallback, const std::string& doc,
          double lowest) {
    return {.path = path,
            .type = kind::integer,
            .fallback = fallback,
            .doc = doc,
            .unit = "ms",
            .lowest = lowest,
            .highest = 60000};
}

std::vector<key> make_keys() {
    return {
        {.path = "user",
         .fallback = "nobody",
         .doc = "account to run as once the sockets are open"},
        {.path = "stations",
         .fallback = "base=",
         .doc = "whose TCP connections: STATION=NAMESPACE, separated by commas",
         .check = check_stations},
        {.path = "telemetry",
         .fallback = "ipc://RUN/observer.telemetry",
         .doc = "telemetry (XPUB, bound here): topics tcp, cpu, air, event",
         .check = config::check_endpoint},
        {.path = "slots",
         .fallback = "ipc://RUN/base.telemetry",
         .doc = "whose topic `status` tells the slot; empty: no slots",
         .check = check_endpoint_or_none},
        {.path = "medium",
         .fallback = "ipc://RUN/air.control",
         .doc = "control of the medium or the emulator, for topic air and events; empty: none",
         .check = check_endpoint_or_none},
        every("tcp.every_ms", "20", "between two samples of topic tcp", 1),
        every("tcp.search_ms", "100", "between two searches for new connections", 1),
        {.path = "tcp.flows",
         .type = kind::integer,
         .fallback = "64",
         .doc = "connections of a station that are published, those that moved the most bytes; "
                "the rest is counted",
         .lowest = 1,
         .highest = 1024},
        every("cpu.every_ms", "1000", "between two samples of topic cpu", 50),
        {.path = "cpu.processes",
         .type = kind::integer,
         .fallback = "64",
         .doc = "processes that are published; the rest is counted",
         .lowest = 1,
         .highest = 1024},
        every("air.every_ms", "200", "between two samples of topic air", 20),
    };
}

}  // namespace

const std::vector<key>& observer_keys() {
    static const std::vector<key> keys = make_keys();
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
