// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_process.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/link_socket.h"
#include "app/process.h"
#include "tun/tun_in_namespace.h"

namespace wip::emulator {
namespace {

using openwip::control::MacStatus;
using openwip::control::Reply;
using openwip::control::Request;

// From the end of the preparations to slot 0.
constexpr std::int64_t start_after_ns = 20'000'000;
// Slots between two looks at the control sockets: 10 ms.
constexpr std::int64_t control_every = 15;
// Packets taken from an interface at a time.
constexpr int read_batch = 64;

std::int64_t monotonic_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// One end: interface, control, telemetry.
struct station_end {
    station_end(zmq::context_t& context, const interface_config& c, const char* group,
                int slot_sample_every)
        : role(group == std::string("server") ? "base" : "terminal"),
          tun(make_tun_in(c.network_namespace, c.tun, std::string(group) + ".namespace")),
          gate(tun),
          control(context, c.control_endpoint, std::string(group) + ".control"),
          telemetry(context, c.telemetry_endpoint, slot_sample_every,
                    std::string(group) + ".telemetry") {
        if (!tun.warning().empty()) spdlog::warn("{}: {}", group, tun.warning());
    }
    std::string role;
    tun_device tun;
    host::packet_gate gate;
    host::control_socket control;
    host::telemetry_socket telemetry;
};

}  // namespace

struct emulator_process::state {
    state(zmq::context_t& context, const config::settings& s, const emulator_config& c)
        : settings(s),
          config(c),
          effective_yaml(s.to_yaml()),
          cell(c.cell, make_source(c.channel, c.cell.seed, c.cell.link.retransmission_delay_slots)),
          server(context, c.server, "server", c.slot_sample_every),
          terminal(context, c.terminal, "terminal", c.slot_sample_every),
          air_control(context, c.air_control_endpoint, "control"),
          slots(c.pacing_limit_ms * 1e3),
          packets(c.pacing_limit_ms * 1e3) {}

    std::int64_t now() const { return monotonic_ns() - t0; }
    void wait_until(std::int64_t due);
    bool read(pollfd& p);
    void release(std::int64_t until);
    void publish(slot k);
    void serve();
    void serve_station(station_end& end);
    void serve_air();
    void fill(const station_end& end, MacStatus& status) const;
    void fill(openwip::control::AirStatus& status) const;
    void configure(const std::string& yaml, const char* group, const char* where);
    void end(int code, const std::string& why);

    config::settings settings;
    emulator_config config;
    std::string effective_yaml;
    emulated_cell cell;
    station_end server, terminal;
    host::control_socket air_control;
    air::pacing slots, packets;
    bool realtime_priority = false;
    std::uint64_t malformed = 0;

    std::int64_t t0 = 0;
    slot next;
    pollfd watched[3]{};
    bool ended = false;
    int exit_code = 0;
};

emulator_process::emulator_process(zmq::context_t& context, const config::settings& settings,
                                   const emulator_config& config)
    : state_(std::make_unique<state>(context, settings, config)) {}
emulator_process::~emulator_process() = default;

std::vector<std::string> emulator_process::bound_paths() const {
    const auto& c = state_->config;
    std::vector<std::string> paths{
        host::ipc_path(c.server.control_endpoint), host::ipc_path(c.server.telemetry_endpoint),
        host::ipc_path(c.terminal.control_endpoint), host::ipc_path(c.terminal.telemetry_endpoint),
        host::ipc_path(c.air_control_endpoint)};
    std::erase(paths, "");
    return paths;
}

int emulator_process::run(int signal_fd, bool realtime_priority) {
    auto& s = *state_;
    s.realtime_priority = realtime_priority;
    s.watched[0].fd = s.server.tun.fd();
    s.watched[1].fd = s.terminal.tun.fd();
    s.watched[2].fd = signal_fd;
    for (auto& w : s.watched) w.events = POLLIN;
    s.t0 = monotonic_ns() + start_after_ns;
    for (; !s.ended; ++s.next) {
        const std::int64_t due = slot_start(s.next);
        s.wait_until(due);
        if (s.ended) break;
        s.release(due);
        s.slots.add(static_cast<double>(s.now() - due) * 1e-3);
        s.cell.run_slot(s.next);
        s.publish(s.next);
        if (s.next.value % control_every == 0) s.serve();
    }
    return s.exit_code;
}

// Takes what comes and sends what is due meanwhile.
void emulator_process::state::wait_until(std::int64_t due) {
    bool looked = false;
    for (;;) {
        const std::int64_t t = now();
        if (looked && t >= due) return;
        const std::int64_t next_packet = cell.next_due();
        if (next_packet < due && next_packet <= t) release(std::min(t, due));
        const std::int64_t wake = std::min(due, cell.next_due());
        const std::int64_t left = std::max<std::int64_t>(0, wake - t);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        const int ready = ::ppoll(watched, 3, &timeout, nullptr);
        looked = true;
        if (ready <= 0) continue;
        if (watched[2].revents != 0) {
            if (const auto signal = host::take_signal(watched[2].fd)) {
                const std::string why = host::reason_to_stop();
                end(host::exit_code_of(why), *signal + ": " + why);
                return;
            }
        }
        if (!read(watched[0]) || !read(watched[1])) return;
    }
}

bool emulator_process::state::read(pollfd& p) {
    if (p.revents == 0) return true;
    const bool is_server = &p == &watched[0];
    auto& end_here = is_server ? server : terminal;
    const std::int64_t t = std::max<std::int64_t>(0, now());
    const bool alive = end_here.gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            if (is_server)
                cell.from_server(packet, t);
            else
                cell.from_terminal(packet);
        },
        read_batch);
    if (!alive) end(host::exit_peer_lost, "the interface of the " + end_here.role + " is gone");
    return alive;
}

void emulator_process::state::release(std::int64_t until) {
    cell.release(until, [this](emulated_cell::side to, std::span<const std::uint8_t> packet,
                               std::int64_t due) {
        (to == emulated_cell::side::server ? server : terminal).gate.write(packet);
        packets.add(static_cast<double>(now() - due) * 1e-3);
    });
}

void emulator_process::state::publish(slot k) {
    for (auto* e : {&server, &terminal}) {
        if (e->telemetry.status_due(k)) {
            fill(*e, e->telemetry.status());
            e->telemetry.publish_status(k);
        }
        if (e->telemetry.sample_due(k)) e->telemetry.publish_sample(k, cell.sample());
    }
}

void emulator_process::state::fill(const station_end& e, MacStatus& status) const {
    status.Clear();
    status.set_role(e.role);
    status.set_effective_yaml(effective_yaml);
    if (&e == &server) {
        cell.fill_base(status);
        e.gate.add_input(*status.mutable_downlink());
        host::set(*status.mutable_uplink()->mutable_delivered(), e.gate.delivered());
        e.gate.add_write_errors(*status.mutable_uplink());
    } else {
        cell.fill_terminal(status);
        e.gate.add_input(*status.mutable_uplink());
        host::set(*status.mutable_downlink()->mutable_delivered(), e.gate.delivered());
        e.gate.add_write_errors(*status.mutable_downlink());
    }
    status.set_malformed_messages(malformed);
    status.set_telemetry_sequence(e.telemetry.status_sequence());
    status.set_flowgraph_connected(true);
    status.set_peer_connected(true);
}

void emulator_process::state::fill(openwip::control::AirStatus& status) const {
    const auto p = slots.summary();
    const auto r = packets.summary();
    const double wall = static_cast<double>(now()) * 1e-9;
    status.set_clock("realtime");
    status.set_speed(1);
    status.set_now(next.value * slot_samples);
    status.set_wall_seconds(wall);
    status.set_real_time_factor(wall > 0 ? static_cast<double>(next.value) / slots_per_second / wall
                                         : 0);
    status.set_pacing_median_us(p.median_us);
    status.set_pacing_p99_us(p.p99_us);
    status.set_pacing_p999_us(p.p999_us);
    status.set_pacing_max_us(p.max_us);
    status.set_slots(p.slots);
    status.set_slots_behind(p.behind);
    status.set_pacing_limit_us(config.pacing_limit_ms * 1e3);
    status.set_release_median_us(r.median_us);
    status.set_release_p99_us(r.p99_us);
    status.set_release_p999_us(r.p999_us);
    status.set_release_max_us(r.max_us);
    status.set_released(r.slots);
    status.set_realtime_priority(realtime_priority);
    status.add_nodes("base");
    status.add_nodes("terminal");
}

void emulator_process::state::serve() {
    serve_station(server);
    serve_station(terminal);
    serve_air();
}

void emulator_process::state::serve_station(station_end& e) {
    std::string stop_why;
    const auto answer = [&](const Request& request, Reply& reply) {
        if (request.has_configure_yaml()) {
            if (&e == &server)
                configure(request.configure_yaml(), "link.", "base");
            else
                configure(request.configure_yaml(), "uplink.", "terminal");
        }
        if (request.has_stop())
            stop_why = request.stop().empty() ? "asked to stop" : request.stop();
        fill(e, *reply.mutable_mac());
    };
    if (e.control.serve(answer) == host::control_socket::result::malformed) ++malformed;
    if (!stop_why.empty()) end(host::exit_code_of(stop_why), stop_why);
}

void emulator_process::state::serve_air() {
    std::string stop_why;
    const auto answer = [&](const Request& request, Reply& reply) {
        if (request.has_configure_yaml())
            throw config::error(
                "configure: ask the base station (link.*) or the terminal (uplink.*)");
        if (request.has_reset_counters()) {
            slots.reset();
            packets.reset();
        }
        if (request.has_stop())
            stop_why = request.stop().empty() ? "asked to stop" : request.stop();
        fill(*reply.mutable_air());
    };
    if (air_control.serve(answer) == host::control_socket::result::malformed) ++malformed;
    if (!stop_why.empty()) end(host::exit_code_of(stop_why), stop_why);
}

void emulator_process::state::configure(const std::string& yaml, const char* group,
                                        const char* where) {
    config::settings changed_settings = settings;
    changed_settings.merge_yaml(yaml, "configure", true);
    const auto changed = changed_settings.changed_from(settings);
    for (const auto& key : changed)
        if (!key.starts_with(group))
            throw changed_settings.refuse(key, std::string("not a setting of the ") + where);
    if (changed.empty()) return;
    const cell_config wanted = translate(changed_settings).cell;
    if (std::string(group) == "link.")
        cell.reconfigure(wanted.link);
    else
        cell.reconfigure(wanted.uplink);
    settings = changed_settings;
    effective_yaml = settings.to_yaml();
    for (const auto& key : changed) spdlog::info("{} = {}", key, settings.text(key));
}

void emulator_process::state::end(int code, const std::string& why) {
    if (ended) return;
    ended = true;
    exit_code = code;
    if (code == host::exit_asked)
        spdlog::info("emulator: ends: {}", why);
    else
        spdlog::error("emulator: ends: {}", why);
}

}  // namespace wip::emulator
