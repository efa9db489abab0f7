// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_process.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "emulator/air_status.h"
#include "emulator/delayed_path.h"
#include "emulator/emulator_telemetry.h"
#include "emulator/ends.h"
#include "profiles/channel_definition.h"
#include "runtime/monotonic.h"
#include "runtime/process.h"
#include "runtime/setting_changes.h"

namespace wip::emulator {
namespace {

using host::topic;
using openwip::control::MacStatus;
using openwip::control::Reply;

// From the end of the preparations to slot 0.
constexpr std::int64_t start_after_ns = 20'000'000;
// Slots between two looks at the control sockets: 10 ms.
constexpr std::int64_t control_every = 15;
// Packets taken from an interface at a time.
constexpr int read_batch = 64;

}  // namespace

struct emulator_process::state {
    state(zmq::context_t& context, const config::settings& s, const emulator_config& c)
        : settings(s),
          config(c),
          effective_yaml(s.to_yaml()),
          path(c),
          server(c.server, "server"),
          base(context, c.server, "server", c.telemetry),
          terminal(context, c.terminals[0], "terminal", c.telemetry),
          topics(cell, base.telemetry, terminal.telemetry, c.cell.cell,
                 c.telemetry.packets_per_second),
          air_control(context, c.air_control_endpoint, "control"),
          slots(c.pacing_limit_ms * 1e3),
          packets(c.pacing_limit_ms * 1e3) {
        for (const auto& t : c.terminals) {
            terminals.emplace_back(t, "terminal");
            if (c.tcp_l) terminals.back().gate.take_damaged_tcp();
        }
        using side = emulated_cell::side;
        links.downlink().deliver_to([this](const link_packet& p) {
            return write(side::terminal, p.tag, p.data, p.due_ns);
        });
        links.uplink().deliver_to(
            [this](const link_packet& p) { return write(side::server, p.tag, p.data, p.due_ns); });
        cell.watch({[this](slot k) {
                        slots.add(static_cast<double>(now() - slot_start(k)) * 1e-3);
                        topics.prepare(k);
                    },
                    [this](slot k) { publish(k); }});
    }

    std::int64_t now() const { return runtime::monotonic_ns() - t0; }
    void wait_until(std::int64_t due);
    bool read_server();
    bool read_terminal(std::size_t user);
    int write(emulated_cell::side to, int user, std::span<const std::uint8_t> packet,
              std::int64_t due);
    void publish(slot k);
    void serve();
    void fill(const station_sockets& station, MacStatus& status) const;
    void fill(openwip::control::AirStatus& status) const;
    // As whom it is asked: each has settings of its own.
    enum class station : std::uint8_t { base, terminal, air };
    bool configure(const std::string& yaml, station asked);  // false: nothing was changed
    void apply(const emulator_config& wanted, const std::vector<std::string>& changed);
    void end_blackout();

    config::settings settings;
    emulator_config config;
    std::string effective_yaml;
    cell_path path;
    emulated_cell& cell = path.cell;
    delayed_pair& links = path.links;
    terminal_addresses addresses{config};
    gateway server;
    std::deque<gateway> terminals;
    station_sockets base, terminal;
    emulator_telemetry topics;
    host::control_socket air_control;
    runtime::pacing slots, packets;
    host::setting_changes base_changes, terminal_changes, air_changes;
    bool realtime_priority = false;
    std::uint64_t malformed = 0;

    std::int64_t t0 = 0;
    slot next;
    std::vector<pollfd> watched;  // signals, server, terminals
    ending end;
};

emulator_process::emulator_process(zmq::context_t& context, const config::settings& settings,
                                   const emulator_config& config)
    : state_(std::make_unique<state>(context, settings, config)) {}
emulator_process::~emulator_process() = default;

std::vector<std::string> emulator_process::bound_paths() const { return paths_of(state_->config); }

int emulator_process::run(int signal_fd, bool realtime_priority) {
    auto& s = *state_;
    s.realtime_priority = realtime_priority;
    s.watched.push_back({signal_fd, POLLIN, 0});
    s.watched.push_back({s.server.tun.fd(), POLLIN, 0});
    for (const auto& t : s.terminals) s.watched.push_back({t.tun.fd(), POLLIN, 0});
    s.cell.prepare_errors();
    s.t0 = runtime::monotonic_ns() + start_after_ns;
    for (; !s.end.reached(); ++s.next) {
        const std::int64_t due = slot_start(s.next);
        s.wait_until(due);
        if (s.end.reached()) break;
        s.links.advance(due);
        if (s.next.value % control_every == 0) s.serve();
    }
    return s.end.code();
}

// Takes what comes and sends what is due meanwhile.
void emulator_process::state::wait_until(std::int64_t due) {
    bool looked = false;
    for (;;) {
        const std::int64_t t = now();
        if (looked && t >= due) return;
        // Not the slot itself: what has come until now is read first.
        if (links.next_wakeup() < due) links.advance(std::min(t, due - 1));
        const std::int64_t left = std::max<std::int64_t>(0, links.next_wakeup() - t);
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

bool emulator_process::state::read_server() {
    const std::int64_t t = std::max<std::int64_t>(0, now());
    const bool alive = server.gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            topics.passed(emulated_cell::side::server, 0, host::ip_log::way::in, packet, t);
            links.downlink().offer(packet, t, addresses.user_of(packet));
        },
        read_batch);
    if (!alive) end.set(host::exit_peer_lost, "the interface of the server's side is gone");
    return alive;
}

bool emulator_process::state::read_terminal(std::size_t user) {
    const bool alive = terminals[user].gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            const std::int64_t t = std::max<std::int64_t>(0, now());
            topics.passed(emulated_cell::side::terminal, static_cast<int>(user),
                          host::ip_log::way::in, packet, t);
            links.uplink().offer(packet, t, static_cast<int>(user));
        },
        read_batch);
    if (!alive) end.set(host::exit_peer_lost, "the interface of a terminal is gone");
    return alive;
}

int emulator_process::state::write(emulated_cell::side to, int user,
                                   std::span<const std::uint8_t> packet, std::int64_t due) {
    auto& out =
        to == emulated_cell::side::server ? server : terminals[static_cast<std::size_t>(user)];
    topics.passed(to, user, host::ip_log::way::out, packet, due);
    const int error = out.gate.write(packet);
    packets.add(static_cast<double>(now() - due) * 1e-3);
    return error;
}

void emulator_process::state::publish(slot k) {
    topics.publish(k);
    for (auto* e : {&base, &terminal})
        publish_status(*e, k, [this, e](MacStatus& m) { fill(*e, m); });
}

void emulator_process::state::fill(const station_sockets& e, MacStatus& status) const {
    status.Clear();
    status.set_role(&e == &base ? "base" : "terminal");
    status.set_effective_yaml(effective_yaml);
    if (&e == &base) {
        path.fill_base(status);
        server.gate.add_input(*status.mutable_downlink());
        host::set(*status.mutable_uplink()->mutable_delivered(), server.gate.delivered());
        server.gate.add_write_errors(*status.mutable_uplink());
    } else {
        path.fill_terminal(status);
        auto& delivered = *status.mutable_downlink()->mutable_delivered();
        delivered.Clear();
        for (const auto& t : terminals) {
            t.gate.add_input(*status.mutable_uplink());
            delivered.set_packets(delivered.packets() + t.gate.delivered().packets);
            delivered.set_bytes(delivered.bytes() + t.gate.delivered().bytes);
            t.gate.add_write_errors(*status.mutable_downlink());
            t.gate.add_relay(*status.mutable_terminal());
        }
    }
    status.set_malformed_messages(malformed);
    status.set_telemetry_sequence(e.telemetry.sequence(topic::status));
    status.set_flowgraph_connected(true);
    status.set_peer_connected(true);
}

void emulator_process::state::fill(openwip::control::AirStatus& status) const {
    fill_air({slots.summary(), packets.summary(), next, now(), config.pacing_limit_ms,
              realtime_priority, cell.users()},
             status);
    status.set_effective_yaml(effective_yaml);
}

void emulator_process::state::serve() {
    end_blackout();
    const slot from = next + slot_count(1);
    for (auto* e : {&base, &terminal}) {
        const bool is_base = e == &base;
        const auto told = [this, e, is_base](Reply& r) {
            fill(*e, *r.mutable_mac());
            (is_base ? base_changes : terminal_changes).fill(*r.mutable_mac());
        };
        const auto change = [this, is_base](const std::string& yaml) {
            return configure(yaml, is_base ? station::base : station::terminal);
        };
        malformed += !emulator::serve(e->control, {change, from, told}, end);
    }
    const auto told = [this](Reply& r) {
        fill(*r.mutable_air());
        air_changes.fill(*r.mutable_air());
    };
    malformed +=
        !emulator::serve(air_control,
                         {[this](const std::string& yaml) { return configure(yaml, station::air); },
                          from, told, [this] { slots.reset(), packets.reset(); }},
                         end);
}

namespace {

bool of(const std::string& key, std::initializer_list<const char*> groups) {
    return std::ranges::any_of(groups, [&](const char* g) { return key.starts_with(g); });
}

}  // namespace

bool emulator_process::state::configure(const std::string& yaml, station asked) {
    config::settings wanted = settings;
    wanted.merge_yaml(yaml, "configure", true);
    const auto changed = wanted.changed_from(settings);
    if (changed.empty()) return false;
    for (const auto& key : changed) {
        if (of(key, {"umts.", "wlan."}))
            throw wanted.refuse(
                key, "a link of kind " + settings.text("link.kind") + " has no such live setting");
        const station owner = of(key, {"channel.", "scheduling."}) ? station::air
                              : of(key, {"uplink."})               ? station::terminal
                                                                   : station::base;
        // What is published may be asked of either end.
        if (owner != asked && !(of(key, {"telemetry."}) && asked == station::terminal))
            throw wanted.refuse(
                key, std::string("ask ") + (owner == station::air        ? "air"
                                            : owner == station::terminal ? "the terminal"
                                                                         : "the base station"));
        const bool source = of(key, {"channel."}) && key != "channel.errors" &&
                            key != "channel.blackout" && key != "channel.model";
        const bool trace = settings.text("channel.model").ends_with(".h5");
        // Names only: files are read at the start, before anybody may ask over a socket.
        if (key == "channel.model") {
            const auto names = profiles::names();
            std::string valid;
            for (const auto& n : names) valid += (valid.empty() ? "" : ", ") + n;
            if (std::ranges::find(names, wanted.text(key)) == names.end())
                throw wanted.refuse(key, "not valid in a running cell; valid: " + valid);
        }
        if (source && trace && wanted.text("channel.model").ends_with(".h5"))
            throw wanted.refuse(key, "the channel is a trace, which has its own");
        if (key == "link.retransmission_delay_ms" && trace &&
            settings.text("channel.prediction_nmse") == "trace")
            throw wanted.refuse(key, "the trace's predictions are for the delay at the start");
    }
    apply(translate(wanted), changed);
    const slot from = next + slot_count(1);
    auto& made = asked == station::base       ? base_changes
                 : asked == station::terminal ? terminal_changes
                                              : air_changes;
    for (const auto& key : changed) {
        const std::string text = key + " = " + wanted.text(key);
        spdlog::info("{} from slot {}", text, from.value);
        made.add(from.value, key, settings.text(key), wanted.text(key));
        // Those of the medium are told by whoever asks it (wip_observer), as of a cell of samples.
        if (asked == station::air) continue;
        auto& e = asked == station::terminal ? terminal.events : base.events;
        e.say(openwip::telemetry::Event::INFO, "setting", text, from);
    }
    settings = wanted;
    effective_yaml = settings.to_yaml();
    return true;
}

// All of it or, when it throws, nothing: what can be refused is made before anything is changed.
void emulator_process::state::apply(const emulator_config& wanted,
                                    const std::vector<std::string>& changed) {
    const auto any = [&](std::initializer_list<const char*> groups) {
        return std::ranges::any_of(changed, [&](const auto& key) { return of(key, groups); });
    };
    const bool new_sources = std::ranges::any_of(changed, [](const auto& key) {
        return of(key, {"channel."}) && key != "channel.errors" && key != "channel.blackout";
    });
    std::vector<snr_source> sources;
    if (new_sources) sources = make_sources(wanted);
    if (any({"link.", "scheduling."})) cell.reconfigure(wanted.cell.cell);
    if (any({"uplink."})) cell.reconfigure(wanted.cell.uplink);
    if (any({"delay_injection."})) links.apply(wanted, std::max<std::int64_t>(0, now()));
    if (any({"telemetry."})) topics.set_packet_rate(wanted.telemetry.packets_per_second);
    if (any({"telemetry."}))
        for (auto* e : {&base, &terminal}) e->telemetry.set_rates(wanted.telemetry);
    if (any({"channel.errors"})) cell.reconfigure(wanted.cell.errors);
    if (new_sources) cell.replace(std::move(sources));
    if (any({"channel.blackout"})) {
        const slot from = next + slot_count(1);
        const double ms = std::min(wanted.channel.blackout_ms, 1e12);
        cell.black_out(from, from + slot_count(static_cast<std::int64_t>(std::ceil(
                                        ms * static_cast<double>(slots_per_second) / 1000))));
    }
    config.channel = wanted.channel;
}

// A blackout of a given length is over by itself.
void emulator_process::state::end_blackout() {
    if (settings.text("channel.blackout") == "off" || cell.dark(next + slot_count(1))) return;
    settings.replace("channel.blackout", "off");
    effective_yaml = settings.to_yaml();
}

}  // namespace wip::emulator
