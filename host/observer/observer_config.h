// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of wip_observer.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"

namespace wip::observer {

struct station_namespace {
    std::string station;            // "base", "terminal"
    std::string network_namespace;  // name as in /run/netns; empty: that of the process
};

struct observer_config {
    std::string user;
    std::string run;  // folder with pids/ and applications; empty: no processes
    std::vector<station_namespace> stations;
    std::string telemetry_endpoint, slots_endpoint, air_endpoint;
    int tcp_every_ms = 0, tcp_search_ms = 0, tcp_flows = 0;
    int cpu_every_ms = 0, cpu_processes = 0;
    int air_every_ms = 0;
};

const std::vector<config::key>& observer_keys();

// Checks across keys, translates. Throws config::error.
observer_config translate(config::settings& settings);

}  // namespace wip::observer
