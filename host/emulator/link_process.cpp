// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/link_process.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "emulator/air_status.h"
#include "emulator/ends.h"
#include "emulator/link_pair.h"
#include "runtime/monotonic.h"
#include "runtime/pacing.h"
#include "runtime/process.h"
#include "runtime/setting_changes.h"
#include "station/ip_log.h"

namespace wip::emulator {
namespace {

using host::ip_log;
using host::topic;
using openwip::control::MacStatus;
using openwip::control::Reply;

constexpr std::int64_t start_after_ns = 20'000'000;
constexpr std::int64_t beat_slots = 15;  // 10 ms, exactly
constexpr int read_batch = 64;

}  // namespace

struct link_process::state {
    state(zmq::context_t& context, const config::settings& s, const emulator_config& c)
        : settings(s),
          config(c),
          effective_yaml(s.to_yaml()),
          links(make_links(c)),
          server(c.server, "server"),
          stations{station_sockets(context, c.server, "server", c.telemetry),
                   station_sockets(context, c.terminals[0], "terminal", c.telemetry)},
          server_log(stations[0].telemetry),
          air_control(context, c.air_control_endpoint, "control"),
          beats(c.pacing_limit_ms * 1e3),
          packets(c.pacing_limit_ms * 1e3) {
        for (std::size_t u = 0; u < c.terminals.size(); ++u) {
            terminals.emplace_back(c.terminals[u], "terminal");
            terminal_logs.emplace_back(stations[1].telemetry, static_cast<int>(u));
        }
        links->downlink().deliver_to([this](const link_packet& p) {
            const auto u = static_cast<std::size_t>(p.tag);
            terminal_logs[u].add(ip_log::way::out, ip_log::link::down, p.data, p.due_ns);
            return leave(terminals[u], p);
        });
        links->uplink().deliver_to([this](const link_packet& p) {
            server_log.add(ip_log::way::out, ip_log::link::up, p.data, p.due_ns);
            return leave(server, p);
        });
    }

    std::int64_t now() const { return runtime::monotonic_ns() - t0; }
    std::int64_t next_wakeup() const {
        return std::min(links->downlink().next_wakeup(), links->uplink().next_wakeup());
    }
    void wait_until(std::int64_t due);
    bool read_server();
    bool read_terminal(std::size_t user);
    int leave(gateway& to, const link_packet& p);
    void publish();
    void serve();
    void fill(std::size_t e, MacStatus& status) const;
    void fill(openwip::control::AirStatus& status) const;
    bool configure(const std::string& yaml, bool air);
    void end_what_passes();

    config::settings settings;
    emulator_config config;
    std::string effective_yaml;
    std::unique_ptr<link_pair> links;
    gateway server;
    std::deque<gateway> terminals;
    terminal_addresses addresses{config};
    std::array<station_sockets, 2> stations;  // of the server's side, of the terminals
    ip_log server_log;
    std::deque<ip_log> terminal_logs;
    host::control_socket air_control;
    runtime::pacing beats, packets;
    host::setting_changes air_changes, base_changes;
    bool realtime_priority = false;
    std::uint64_t malformed = 0;
    std::int64_t t0 = 0;
    slot next;
    std::vector<pollfd> watched;  // signals, server, terminals
    ending end;
};

link_process::link_process(zmq::context_t& context, const config::settings& settings,
                           const emulator_config& config)
    : state_(std::make_unique<state>(context, settings, config)) {}
link_process::~link_process() = default;

std::vector<std::string> link_process::bound_paths() const { return paths_of(state_->config); }

int link_process::run(int signal_fd, bool realtime_priority) {
    auto& s = *state_;
    s.realtime_priority = realtime_priority;
    s.watched = {pollfd{signal_fd, POLLIN, 0}, pollfd{s.server.tun.fd(), POLLIN, 0}};
    for (const auto& t : s.terminals) s.watched.push_back({t.tun.fd(), POLLIN, 0});
    s.t0 = runtime::monotonic_ns() + start_after_ns;
    for (; !s.end.reached(); s.next = s.next + slot_count(beat_slots)) {
        const std::int64_t due = slot_start(s.next);
        s.wait_until(due);
        if (s.end.reached()) break;
        s.beats.add(static_cast<double>(s.now() - due) * 1e-3);
        s.publish();
        s.serve();
    }
    return s.end.code();
}

void link_process::state::wait_until(std::int64_t due) {
    bool looked = false;
    for (;;) {
        const std::int64_t t = now();
        if (looked && t >= due) return;
        if (t >= 0 && next_wakeup() <= t) links->downlink().advance(t);
        const std::int64_t left = std::max<std::int64_t>(0, std::min(due, next_wakeup()) - t);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        const int ready = ::ppoll(watched.data(), watched.size(), &timeout, nullptr);
        looked = true;
        if (ready <= 0) continue;
        if (watched[0].revents != 0 && end.signalled(watched[0].fd)) return;
        if (watched[1].revents != 0 && !read_server()) return;
        for (std::size_t u = 0; u < terminals.size(); ++u)
            if (watched[u + 2].revents != 0 && !read_terminal(u)) return;
    }
}

bool link_process::state::read_server() {
    const bool alive = server.gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            const std::int64_t t = std::max<std::int64_t>(0, now());
            server_log.add(ip_log::way::in, ip_log::link::down, packet, t);
            links->downlink().advance(t);
            links->downlink().offer(packet, t, addresses.user_of(packet));
        },
        read_batch);
    if (!alive) end.set(host::exit_peer_lost, "the interface of the server's side is gone");
    return alive;
}

bool link_process::state::read_terminal(std::size_t user) {
    const bool alive = terminals[user].gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            const std::int64_t t = std::max<std::int64_t>(0, now());
            terminal_logs[user].add(ip_log::way::in, ip_log::link::up, packet, t);
            links->uplink().advance(t);
            links->uplink().offer(packet, t, static_cast<int>(user));
        },
        read_batch);
    if (!alive) end.set(host::exit_peer_lost, "the interface of a terminal is gone");
    return alive;
}

int link_process::state::leave(gateway& to, const link_packet& p) {
    const int error = to.gate.write(p.data);
    packets.add(static_cast<double>(now() - p.due_ns) * 1e-3);
    return error;
}

void link_process::state::publish() {
    server_log.slot_done(next);
    for (auto& log : terminal_logs) log.slot_done(next);
    for (const std::size_t e : {0U, 1U})
        publish_status(stations[e], next, [this, e](MacStatus& m) { fill(e, m); });
}

void link_process::state::fill(std::size_t e, MacStatus& status) const {
    status.Clear();
    status.set_role(e == 0 ? "base" : "terminal");
    status.set_effective_yaml(effective_yaml);
    status.set_slot(next.value);
    e == 0 ? links->fill_base(status) : links->fill_terminal(status);
    auto &down = *status.mutable_downlink(), &up = *status.mutable_uplink();
    auto &sent = e == 0 ? down : up, &received = e == 0 ? up : down;
    packets_bytes delivered;
    const auto add = [&](const gateway& g) {
        g.gate.add_input(sent);
        g.gate.add_write_errors(received);
        delivered += g.gate.delivered();
    };
    if (e == 0)
        add(server);
    else
        std::ranges::for_each(terminals, add);
    host::set(*received.mutable_delivered(), delivered);
    for (int u = 0; e == 1 && u < status.users_size(); ++u)
        host::set(*status.mutable_users(u)->mutable_downlink()->mutable_delivered(),
                  terminals[static_cast<std::size_t>(u)].gate.delivered());
    status.set_malformed_messages(malformed);
    status.set_telemetry_sequence(stations[e].telemetry.sequence(topic::status));
    status.set_flowgraph_connected(true);
    status.set_peer_connected(true);
}

void link_process::state::fill(openwip::control::AirStatus& status) const {
    fill_air({beats.summary(), packets.summary(), next, now(), config.pacing_limit_ms,
              realtime_priority, static_cast<int>(terminals.size())},
             status);
    status.set_effective_yaml(effective_yaml);
}

void link_process::state::serve() {
    end_what_passes();
    for (const std::size_t e : {0U, 1U}) {
        const auto told = [this, e](Reply& r) {
            fill(e, *r.mutable_mac());
            if (e == 0) base_changes.fill(*r.mutable_mac());
        };
        malformed += !emulator::serve(
            stations[e].control,
            {[this](const std::string& yaml) { return configure(yaml, false); }, next, told}, end);
    }
    const auto told = [this](Reply& r) {
        fill(*r.mutable_air());
        air_changes.fill(*r.mutable_air());
    };
    malformed +=
        !emulator::serve(air_control,
                         {[this](const std::string& yaml) { return configure(yaml, true); }, next,
                          told, [this] { beats.reset(), packets.reset(); }},
                         end);
}

// The link's own settings are asked for of the air, telemetry's of either station.
bool link_process::state::configure(const std::string& yaml, bool air) {
    config::settings wanted = settings;
    wanted.merge_yaml(yaml, "configure", true);
    const auto changed = wanted.changed_from(settings);
    if (changed.empty()) return false;
    for (const auto& key : changed) {
        const bool telemetry = key.starts_with("telemetry.");
        if (!telemetry && !key.starts_with(settings.text("link.kind") + "."))
            throw wanted.refuse(
                key, "a link of kind " + settings.text("link.kind") + " has no such live setting");
        if (telemetry == air)
            throw wanted.refuse(key, telemetry ? "ask the base station" : "ask air");
    }
    const emulator_config made = translate(wanted);
    links->apply(made, std::max<std::int64_t>(0, now()));
    for (auto& s : stations) s.telemetry.set_rates(made.telemetry);
    for (const auto& key : changed) {
        spdlog::info("{} = {} from slot {}", key, wanted.text(key), next.value);
        (air ? air_changes : base_changes)
            .add(next.value, key, settings.text(key), wanted.text(key));
    }
    settings = wanted;
    effective_yaml = settings.to_yaml();
    return true;
}

void link_process::state::end_what_passes() {
    const auto keys = links->ended(now());
    if (keys.empty()) return;
    for (const auto& key : keys) settings.replace(key, "0");
    links->apply(translate(settings), now());
    effective_yaml = settings.to_yaml();
}

}  // namespace wip::emulator
