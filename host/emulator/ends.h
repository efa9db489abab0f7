// SPDX-License-Identifier: GPL-3.0-or-later
// What every process of the emulator has at each end of its links: an interface, and the sockets of
// the station that it stands for.
#pragma once

#include <spdlog/spdlog.h>

#include <string>
#include <vector>
#include <zmq.hpp>

#include "emulator/emulator_config.h"
#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/status_events.h"
#include "runtime/telemetry_socket.h"
#include "station/packet_gate.h"
#include "tun/tun_in_namespace.h"

namespace wip::emulator {

// An interface with its counts.
struct gateway {
    gateway(const interface_config& c, const char* group)
        : tun(make_tun_in(c.network_namespace, c.tun, std::string(group) + ".namespace")),
          gate(tun) {
        if (!tun.warning().empty()) spdlog::warn("{}: {}", group, tun.warning());
    }
    tun_device tun;
    host::packet_gate gate;
};

// What a station is asked, and what it publishes.
struct station_sockets {
    station_sockets(zmq::context_t& context, const interface_config& c, const std::string& group,
                    const host::telemetry_rates& rates)
        : control(context, c.control_endpoint, group + ".control"),
          telemetry(context, c.telemetry_endpoint, rates.queue_messages, group + ".telemetry"),
          events(telemetry, group == "server" ? "base" : "terminal") {
        telemetry.set_rates(rates);
    }
    host::control_socket control;
    host::telemetry_socket telemetry;
    host::status_events events;
};

// The ipc sockets that are bound, to hand over to the user that the process becomes.
inline std::vector<std::string> paths_of(const emulator_config& c) {
    std::vector<std::string> paths{peer::socket_path(c.server.control_endpoint),
                                   peer::socket_path(c.server.telemetry_endpoint),
                                   peer::socket_path(c.terminals[0].control_endpoint),
                                   peer::socket_path(c.terminals[0].telemetry_endpoint),
                                   peer::socket_path(c.air_control_endpoint)};
    std::erase(paths, "");
    return paths;
}

}  // namespace wip::emulator
