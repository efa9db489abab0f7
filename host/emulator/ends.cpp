// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/ends.h"

#include <algorithm>

namespace wip::emulator {

using host::topic;
using openwip::control::MacStatus;
using openwip::control::Reply;
using openwip::control::Request;

packet_model::terminal_router make_router(const emulator_config& c) {
    std::vector<std::string> terminals;
    std::vector<packet_model::address6> terminals6;
    for (const auto& t : c.terminals) {
        terminals.push_back(t.tun.address);
        if (t.tun.address6.empty()) continue;
        const in6_addr bytes = bytes_of_address6(t.tun.address6);
        std::ranges::copy(bytes.s6_addr, terminals6.emplace_back().begin());
    }
    return packet_model::terminal_router(terminals, terminals6);
}

void add_router(const packet_model::terminal_router& router,
                openwip::control::Direction& downlink) {
    host::add_refused(downlink, packet_model::no_such_terminal, router.dropped());
    if (router.copies().packets == 0) return;
    // Beside those of a Snoop agent.
    const auto& others = downlink.copies();
    host::set(*downlink.mutable_copies(),
              packets_bytes{others.packets(), others.bytes()} + router.copies());
}

bool serve(host::control_socket& socket, const answers& with, host::ending& end) {
    host::stop_reason stop;
    const auto answer = [&](const Request& request, Reply& reply) {
        if (request.what_case() == Request::kConfigureYaml &&
            with.configure(request.configure_yaml()))
            reply.set_effective_slot(with.from.value);
        if (request.has_reset_counters() && with.reset_counters) with.reset_counters();
        if (request.what_case() == Request::kStop) stop = host::reason_of(request);
        with.fill(reply);
    };
    const bool question = socket.serve(answer) != host::control_socket::result::malformed;
    if (stop.given()) end.set(stop);
    return question;
}

void publish_status(host::telemetry_port& out, host::status_events& events, slot k,
                    const std::function<void(MacStatus&)>& fill) {
    if (!out.due(topic::status, k) && !out.due(topic::event, k)) return;
    auto& mac = *out.message(topic::status).mutable_mac();
    fill(mac);
    if (out.due(topic::event, k)) events.compare(mac, k);
    if (out.due(topic::status, k)) out.publish(topic::status, k);
}

void publish_status(station_sockets& e, slot k, const std::function<void(MacStatus&)>& fill) {
    publish_status(e.telemetry, e.events, k, fill);
    e.telemetry.on_slot();
    if (!e.events.wanted()) e.events.forget();
}

std::vector<std::string> paths_of(const emulator_config& c) {
    return {peer::socket_path(c.server.control_endpoint),
            peer::socket_path(c.server.telemetry_endpoint),
            peer::socket_path(c.terminals[0].control_endpoint),
            peer::socket_path(c.terminals[0].telemetry_endpoint),
            peer::socket_path(c.air_control_endpoint)};
}

}  // namespace wip::emulator
