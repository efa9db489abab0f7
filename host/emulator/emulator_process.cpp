// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_process.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>

#include "os/monotonic.h"
#include "runtime/pacing_status.h"
#include "runtime/process.h"

namespace wip::emulator {
namespace {

using host::topic;
using openwip::control::AirStatus;
using openwip::control::MacStatus;
using openwip::control::Reply;

// Time from the end of the preparations to slot 0.
constexpr std::int64_t start_after_ns = 20'000'000;
// Packets taken from an interface at a time.
constexpr int read_batch = 64;

}  // namespace

bool starts_with_any(const std::string& key, std::initializer_list<const char*> groups) {
    return std::ranges::any_of(groups, [&](const char* g) { return key.starts_with(g); });
}

std::unique_ptr<emulator_process> make_process(zmq::context_t& context,
                                               const config::settings& settings,
                                               const emulator_config& config) {
    return config.kind == link_kind::ofdm ? make_cell_process(context, settings, config)
                                          : make_link_process(context, settings, config);
}

emulator_process::emulator_process(zmq::context_t& context, const config::settings& s,
                                   const emulator_config& c, slot_count beat,
                                   slot_count until_change)
    : settings(s),
      config(c),
      stations{station_sockets(context, c.server, "server", c.telemetry),
               station_sockets(context, c.terminals[0], "terminal", c.telemetry)},
      beats(c.pacing_limit_ms * 1e3),
      packets(c.pacing_limit_ms * 1e3),
      beat_length(beat),
      change_after(until_change),
      effective_yaml(s.to_yaml()),
      router(make_router(c)),
      server(c.server, "server"),
      air_control(context, c.air_control_endpoint, "control") {
    for (const auto& t : c.terminals) {
        terminals.emplace_back(t, "terminal");
        if (c.tcp_l) terminals.back().gate.take_damaged_tcp();
    }
}

void emulator_process::deliver() {
    const auto leave = [this](int user, const link_packet& p) {
        goes(user, p);
        const int error = gateway_of(user).gate.write(p.data);
        packets.add(static_cast<double>(now() - p.due_ns) * 1e-3);
        return error;
    };
    links().downlink().deliver_to([leave](const link_packet& p) { return leave(p.tag, p); });
    links().uplink().deliver_to([leave](const link_packet& p) { return leave(-1, p); });
}

std::int64_t emulator_process::now() const { return os::monotonic_ns() - t0; }

gateway& emulator_process::gateway_of(int user) {
    return user < 0 ? server : terminals[static_cast<std::size_t>(user)];
}

int emulator_process::run(int signal_fd, bool realtime) {
    realtime_priority = realtime;
    watched.add(signal_fd);
    watched.add(server.tun.fd());
    for (const auto& t : terminals) watched.add(t.tun.fd());
    prepare();
    t0 = os::monotonic_ns() + start_after_ns;
    for (; !end.reached(); next = next + beat_length) {
        const std::int64_t due = slot_start(next);
        wait_until(due);
        if (!end.reached()) beat(due);
    }
    links().flush(std::max<std::int64_t>(0, now()));
    return end.code();
}

// Takes what comes and sends what is due meanwhile.
void emulator_process::wait_until(std::int64_t due) {
    bool looked = false;
    for (;;) {
        const std::int64_t t = now();
        if (looked && t >= due) return;
        advance(t, due);
        const std::int64_t left =
            std::max<std::int64_t>(0, std::min(due, links().next_wakeup()) - t);
        const bool stirred = watched.sleep(std::chrono::nanoseconds(left));
        looked = true;
        if (!stirred) continue;
        if (watched.ready(0) && end.signalled(watched.fd(0))) return;
        for (int user = -1; user < static_cast<int>(terminals.size()); ++user)
            if (watched.ready(static_cast<std::size_t>(user + 2)) && !read(user)) return;
    }
}

bool emulator_process::read(int user) {
    const bool alive = gateway_of(user).gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            const std::int64_t t = std::max<std::int64_t>(0, now());
            came(user, packet, t);
            if (user < 0)
                router.offer(links().downlink(), packet, t);
            else
                links().uplink().offer(packet, t, user);
        },
        read_batch);
    if (!alive)
        end.set({openwip::stop::GONE, std::string("the interface of ") +
                                          (user < 0 ? "the server's side" : "a terminal") +
                                          " is gone"});
    return alive;
}

void emulator_process::publish() {
    for (const auto s : {station::base, station::terminal})
        publish_status(sockets_of(s), next, [this, s](MacStatus& m) { fill(s, m); });
}

void emulator_process::fill(station which, MacStatus& status) {
    const bool base = which == station::base;
    status.Clear();
    status.set_role(base ? "base" : "terminal");
    status.set_effective_yaml(effective_yaml);
    status.set_slot(next.value);
    base ? path().fill_base(status) : path().fill_terminal(status);
    auto &down = *status.mutable_downlink(), &up = *status.mutable_uplink();
    auto &sent = base ? down : up, &received = base ? up : down;
    packets_bytes delivered;
    const auto add = [&](const gateway& g) {
        g.gate.add_input(sent);
        g.gate.add_write_errors(received);
        delivered += g.gate.delivered();
    };
    if (base) {
        add(server);
        add_router(router, down);
    } else
        for (std::size_t u = 0; u < terminals.size(); ++u) {
            const auto& gate = terminals[u].gate;
            add(terminals[u]);
            if (config.tcp_l) gate.add_relay(*status.mutable_terminal());
            if (static_cast<int>(u) < status.users_size())
                host::set(*status.mutable_users(static_cast<int>(u))
                               ->mutable_downlink()
                               ->mutable_delivered(),
                          gate.delivered());
        }
    host::set(*received.mutable_delivered(), delivered);
    stamp(status, status.slot());
    status.set_malformed_messages(malformed);
    status.set_telemetry_sequence(sockets_of(which).telemetry.sequence(topic::status));
    status.set_flowgraph_connected(true);
    status.set_peer_connected(true);
}

// The emulator answers in the medium's place, whatever the link: pacing, and how late packets were
// handed over.
void emulator_process::fill(AirStatus& status) const {
    const auto released = packets.summary();
    const double wall = static_cast<double>(now()) * 1e-9;
    status.set_clock("realtime");
    status.set_speed(1);
    status.set_now(next.value * slot_samples);
    status.set_wall_seconds(wall);
    status.set_real_time_factor(wall > 0 ? static_cast<double>(next.value) / slots_per_second / wall
                                         : 0);
    host::fill_pacing(status, beats.summary(), config.pacing_limit_ms);
    status.set_release_median_us(released.median_us);
    status.set_release_p99_us(released.p99_us);
    status.set_release_p999_us(released.p999_us);
    status.set_release_max_us(released.max_us);
    status.set_released(released.slots);
    status.set_released_behind(released.behind);
    status.set_realtime_priority(realtime_priority);
    status.add_nodes()->set_name("base");
    for (std::size_t u = 1; u <= terminals.size(); ++u)
        status.add_nodes()->set_name("terminal" + (u == 1 ? "" : std::to_string(u)));
    status.set_effective_yaml(effective_yaml);
}

void emulator_process::serve() {
    end_expired_settings();
    for (const auto s : {station::base, station::terminal, station::air}) {
        const auto change = [this, s](const std::string& yaml) { return configure(yaml, s); };
        const auto answer = [this, s](Reply& r) {
            if (s == station::air) {
                fill(*r.mutable_air());
                changes_of(s).fill(*r.mutable_air());
            } else {
                fill(s, *r.mutable_mac());
                changes_of(s).fill(*r.mutable_mac());
            }
        };
        answers with{change, changes_from(), answer};
        if (s == station::air) with.reset_counters = [this] { beats.reset(), packets.reset(); };
        malformed +=
            !emulator::serve(s == station::air ? air_control : sockets_of(s).control, with, end);
    }
}

void emulator_process::settle(const config::settings& wanted,
                              const std::vector<std::string>& changed, station asked) {
    for (const auto& key : changed) {
        spdlog::info("{} = {} from slot {}", key, wanted.text(key), changes_from().value);
        changes_of(asked).add(changes_from().value, key, settings.text(key), wanted.text(key));
    }
    settings = wanted;
    effective_yaml = settings.to_yaml();
}

void emulator_process::replace(const std::string& key, const std::string& value) {
    settings.replace(key, value);
    effective_yaml = settings.to_yaml();
}

std::string_view emulator_process::name_of(station s) {
    return s == station::air ? "air" : s == station::terminal ? "terminal" : "base";
}

config::error emulator_process::no_such_setting(const config::settings& wanted,
                                                const std::string& key) {
    return wanted.refuse(key, "a link of kind " + wanted.text(config::name::link_kind) +
                                  " has no such live setting; valid: those of its own link");
}

}  // namespace wip::emulator
