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
#include "emulator/delayed_path.h"
#include "emulator/ends.h"
#include "runtime/monotonic.h"
#include "runtime/pacing.h"
#include "runtime/process.h"
#include "runtime/setting_changes.h"
#include "station/ip_log.h"
#include "station/packet_topic.h"

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
          path(c),
          server(c.server, "server"),
          stations{station_sockets(context, c.server, "server", c.telemetry),
                   station_sockets(context, c.terminals[0], "terminal", c.telemetry)},
          server_log(stations[0].telemetry),
          packet_records(c.telemetry.packets_per_second),
          server_pdus(stations[0].telemetry, 0, topic::frames),
          air_control(context, c.air_control_endpoint, "control"),
          beats(c.pacing_limit_ms * 1e3),
          packets(c.pacing_limit_ms * 1e3) {
        for (const auto& t : c.terminals) {
            terminals.emplace_back(t, "terminal");
            pdus.emplace_back(stations[1].telemetry, static_cast<int>(pdus.size()), topic::frames);
            logs.emplace_back(stations[1].telemetry, static_cast<int>(logs.size()));
        }
        path.carrier->watch_pdus([this](bool down, int user, std::span<const std::uint8_t> packet,
                                        std::int64_t sent_ns, bool lost) {
            auto& log = down ? server_pdus : pdus[static_cast<std::size_t>(user)];
            log.add(ip_log::way::in, down ? ip_log::link::down : ip_log::link::up, packet, sent_ns,
                    {}, lost);
        });
        links.downlink().deliver_to([this](const link_packet& p) {
            const auto user = static_cast<std::size_t>(p.tag);
            return leave(terminals[user], logs[user], ip_log::link::down, p);
        });
        links.uplink().deliver_to([this](const link_packet& p) {
            return leave(server, server_log, ip_log::link::up, p);
        });
    }

    std::int64_t now() const { return runtime::monotonic_ns() - t0; }
    void wait_until(std::int64_t due);
    bool read(gateway& from, ip_log& log, ip_log::link way, int user);
    int leave(gateway& to, ip_log& log, ip_log::link way, const link_packet& p);
    void publish();
    void serve();
    void fill(std::size_t e, MacStatus& status) const;
    void fill(openwip::control::AirStatus& status) const;
    bool of_the_link(const std::string& key) const;
    bool configure(const std::string& yaml, bool air);
    void end_what_passes();
    void follow_packets();

    config::settings settings;
    emulator_config config;
    std::string effective_yaml;
    pair_path path;
    delayed_pair& links = path.links;
    terminal_addresses addresses{config};
    gateway server;
    std::deque<gateway> terminals;
    std::array<station_sockets, 2> stations;  // 0: server, base station; 1: terminals
    ip_log server_log;
    host::packet_topic packet_records;
    bool following_packets = false;
    ip_log server_pdus;
    std::deque<ip_log> pdus, logs;
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
    s.watched = {{signal_fd, POLLIN, 0}, {s.server.tun.fd(), POLLIN, 0}};
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
        if (t >= 0 && links.next_wakeup() <= t) links.advance(t);
        const std::int64_t left = std::max<std::int64_t>(0, std::min(due, links.next_wakeup()) - t);
        const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
        const int ready = ::ppoll(watched.data(), watched.size(), &timeout, nullptr);
        looked = true;
        if (ready <= 0) continue;
        if (watched[0].revents != 0 && end.signalled(watched[0].fd)) return;
        if (watched[1].revents != 0 && !read(server, server_log, ip_log::link::down, -1)) return;
        for (std::size_t u = 0; u < terminals.size(); ++u)
            if (watched[u + 2].revents != 0 &&
                !read(terminals[u], logs[u], ip_log::link::up, static_cast<int>(u)))
                return;
    }
}

// `user`: whose packets they are; of the server's the address says it.
bool link_process::state::read(gateway& from, ip_log& log, ip_log::link way, int user) {
    const bool alive = from.gate.read_all(
        [&](std::span<const std::uint8_t> packet) {
            const std::int64_t t = std::max<std::int64_t>(0, now());
            log.add(ip_log::way::in, way, packet, t);
            links.advance(t);
            if (user < 0)
                links.downlink().offer(packet, t, addresses.user_of(packet));
            else
                links.uplink().offer(packet, t, user);
        },
        read_batch);
    if (!alive)
        end.set(host::exit_peer_lost, std::string("the interface of ") +
                                          (user < 0 ? "the server's side" : "a terminal") +
                                          " is gone");
    return alive;
}

int link_process::state::leave(gateway& to, ip_log& log, ip_log::link way, const link_packet& p) {
    log.add(ip_log::way::out, way, p.data, p.due_ns);
    const int error = to.gate.write(p.data);
    packets.add(static_cast<double>(now() - p.due_ns) * 1e-3);
    return error;
}

void link_process::state::publish() {
    server_log.slot_done(next);
    server_pdus.slot_done(next);
    for (auto* all : {&pdus, &logs})
        for (auto& log : *all) log.slot_done(next);
    follow_packets();
    for (const std::size_t e : {0U, 1U})
        publish_status(stations[e], next, [this, e](MacStatus& m) { fill(e, m); });
}

// As long as somebody wants to know.
void link_process::state::follow_packets() {
    auto& base = stations[0].telemetry;
    const bool wanted = base.wanted(topic::packet);
    if (wanted != following_packets) {
        following_packets = wanted;
        packet_records.begin();
        path.carrier->follow_packets(
            wanted ? [this](const packet_record& r, int user) { packet_records.add(r, user); }
                   : link_pair::packet_fn());
    }
    for (std::int64_t i = 0; wanted && i < beat_slots; ++i)
        packet_records.slot_done(next + slot_count(i), 0, base);
}

void link_process::state::fill(std::size_t e, MacStatus& status) const {
    status.Clear();
    status.set_role(e == 0 ? "base" : "terminal");
    status.set_effective_yaml(effective_yaml);
    status.set_slot(next.value);
    e == 0 ? path.fill_base(status) : path.fill_terminal(status);
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

// Radio conditions count as the link's own where its errors come from them.
bool link_process::state::of_the_link(const std::string& key) const {
    if (key.starts_with(settings.text("link.kind") + ".")) return true;
    return config.kind == link_kind::wlan &&
           (key == "channel.snr_db" || key == "channel.speed_kmh");
}

// The link's own settings are asked for of the air, telemetry's of either station, delay injection
// of the base station.
bool link_process::state::configure(const std::string& yaml, bool air) {
    config::settings wanted = settings;
    wanted.merge_yaml(yaml, "configure", true);
    const auto changed = wanted.changed_from(settings);
    if (changed.empty()) return false;
    for (const auto& key : changed) {
        const bool station = key.starts_with("telemetry.") || key.starts_with("delay_injection.");
        if (!station && !of_the_link(key))
            throw wanted.refuse(
                key, "a link of kind " + settings.text("link.kind") + " has no such live setting");
        if (station == air) throw wanted.refuse(key, station ? "ask the base station" : "ask air");
    }
    const emulator_config made = translate(wanted);
    const std::int64_t t = std::max<std::int64_t>(0, now());
    path.carrier->apply(made, t);
    const bool delayed = std::ranges::any_of(
        changed, [](const auto& key) { return key.starts_with("delay_injection."); });
    if (delayed) links.apply(made, t);
    for (auto& s : stations) s.telemetry.set_rates(made.telemetry);
    packet_records.set_rate(made.telemetry.packets_per_second);
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
    const auto keys = path.carrier->ended(now());
    if (keys.empty()) return;
    for (const auto& key : keys) settings.replace(key, "0");
    path.carrier->apply(translate(settings), now());
    effective_yaml = settings.to_yaml();
}

}  // namespace wip::emulator
