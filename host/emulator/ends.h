// SPDX-License-Identifier: GPL-3.0-or-later
// The parts that every process of the emulator has at each end of its links: an interface, and the
// sockets of the station that it stands for.
#pragma once

#include <spdlog/spdlog.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "emulator/emulator_config.h"
#include "packet/terminal_router.h"
#include "peer/endpoint.h"
#include "runtime/control_socket.h"
#include "runtime/ending.h"
#include "runtime/status_events.h"
#include "runtime/telemetry_socket.h"
#include "schema/control.pb.h"
#include "station/packet_gate.h"
#include "tun/tun_in_namespace.h"
#include "types/quantity.h"

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

// The router from the server to the terminals, and what it adds to the base station's sums.
packet_model::terminal_router make_router(const emulator_config& c);
void add_router(const packet_model::terminal_router& router, openwip::control::Direction& downlink);

// The sockets on which a station takes requests, and on which it publishes.
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

// The requests that a control socket takes, and their answers.
struct answers {
    std::function<bool(const std::string& yaml)> configure;  // false: nothing was changed
    slot from;                                               // first slot with the changed settings
    std::function<void(openwip::control::Reply&)> fill;
    std::function<void()> reset_counters = {};  // empty: there are no counters to reset
};

// Answers what has come; false: that was no question.
bool serve(host::control_socket& socket, const answers& with, host::ending& end);

// Status and events of slot k, if they are due.
void publish_status(host::telemetry_port& out, host::status_events& events, slot k,
                    const std::function<void(openwip::control::MacStatus&)>& fill);
void publish_status(station_sockets& e, slot k,
                    const std::function<void(openwip::control::MacStatus&)>& fill);

// The ipc sockets that are bound, to hand over to the user that the process becomes.
std::vector<std::string> paths_of(const emulator_config& c);

}  // namespace wip::emulator
