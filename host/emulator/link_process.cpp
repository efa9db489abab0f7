// SPDX-License-Identifier: GPL-3.0-or-later
// Two packet links between two interfaces in real time (emulator_process.h): every kind of link but
// the OFDM cell (link_pair.h). Nothing of a link depends on when it is called; a beat is 10 ms,
// with telemetry and control.

#include <algorithm>
#include <deque>
#include <utility>

#include "emulator/delayed_path.h"
#include "emulator/emulator_process.h"
#include "settings/configuration.h"
#include "station/ip_log.h"
#include "station/packet_topic.h"

namespace wip::emulator {
namespace {

using host::ip_log;
using host::topic;

class link_process final : public emulator_process {
public:
    // The path is made before interfaces and sockets, so that its errors come first.
    link_process(std::unique_ptr<pair_path> path, zmq::context_t& context,
                 const config::settings& s, const emulator_config& c)
        : emulator_process(context, s, c, slot_count(beat_slots), slot_count(0)),
          path_(std::move(path)),
          server_log_(stations[0].telemetry),
          packet_records_(c.telemetry.packets_per_second),
          server_pdus_(stations[0].telemetry, 0, topic::frames) {
        for (int u = 0; u < static_cast<int>(c.terminals.size()); ++u) {
            pdus_.emplace_back(stations[1].telemetry, u, topic::frames);
            logs_.emplace_back(stations[1].telemetry, u);
        }
        path_->carrier->watch_pdus([this](bool down, int user, std::span<const std::uint8_t> packet,
                                          std::int64_t sent_ns, bool lost) {
            auto& log = down ? server_pdus_ : pdus_[static_cast<std::size_t>(user)];
            log.add(ip_log::way::in, down ? ip_log::link::down : ip_log::link::up, packet, sent_ns,
                    {}, lost);
        });
        deliver();
    }

private:
    packet_path& path() override { return *path_; }
    delayed_pair& links() override { return path_->links; }
    void advance(std::int64_t t, std::int64_t) override {
        // The links advance even if nothing is due, since their status also changes without
        // packets.
        if (t >= 0) links().advance(t);
    }
    void beat(std::int64_t due) override {
        beats.add(static_cast<double>(now() - due) * 1e-3);
        server_log_.slot_done(next);
        server_pdus_.slot_done(next);
        for (auto* all : {&pdus_, &logs_})
            for (auto& log : *all) log.slot_done(next);
        follow_packets();
        publish();
        serve();
    }
    ip_log& log_of(int user) {
        return user < 0 ? server_log_ : logs_[static_cast<std::size_t>(user)];
    }
    void came(int user, std::span<const std::uint8_t> packet, std::int64_t t) override {
        log_of(user).add(ip_log::way::in, user < 0 ? ip_log::link::down : ip_log::link::up, packet,
                         t);
        links().advance(t);
    }
    void goes(int user, const link_packet& p) override {
        log_of(user).add(ip_log::way::out, user < 0 ? ip_log::link::up : ip_log::link::down, p.data,
                         p.due_ns);
    }
    void follow_packets();
    bool of_the_link(const std::string& key) const;
    bool configure(const std::string& yaml, station asked) override;
    void end_expired_settings() override;

    std::unique_ptr<pair_path> path_;
    ip_log server_log_;
    host::packet_topic packet_records_;
    bool following_packets_ = false;
    ip_log server_pdus_;
    std::deque<ip_log> pdus_, logs_;
};

// Has the links report each packet while the topic `packet` has a subscriber.
void link_process::follow_packets() {
    auto& base = stations[0].telemetry;
    const bool wanted = base.wanted(topic::packet);
    if (wanted != following_packets_) {
        following_packets_ = wanted;
        packet_records_.begin();
        path_->carrier->follow_packets(
            wanted ? [this](const packet_record& r, int user) { packet_records_.add(r, user); }
                   : link_pair::packet_fn());
    }
    for (std::int64_t i = 0; wanted && i < beat_slots; ++i)
        packet_records_.slot_done(next + slot_count(i), 0, base);
}

// Radio conditions count as the link's own where its errors come from them, and the wired network
// where the link has one.
bool link_process::of_the_link(const std::string& key) const {
    const bool wlan = config.kind == link_kind::wlan, umts = config.kind == link_kind::umts;
    const bool hetnet = config.kind == link_kind::hetnet, trace = config.kind == link_kind::trace;
    if (starts_with_any(key, {"telemetry.", "delay_injection."})) return true;
    if (starts_with_any(key, {"to_base.", "from_base."})) return !umts && !hetnet && !trace;
    if (key == config::name::channel_snr_db || key == config::name::channel_speed_kmh) return wlan;
    return key.starts_with(std::string(config::text_of(config.kind)) + '.') ||
           (trace && starts_with_any(key, {"link.queue", "uplink.queue"}));
}

bool link_process::configure(const std::string& yaml, station asked) {
    config::settings wanted = settings;
    wanted.merge_yaml(yaml, "configure", true);
    const auto changed = wanted.changed_from(settings);
    if (changed.empty()) return false;
    for (const auto& key : changed) {
        if (!of_the_link(key)) throw no_such_setting(wanted, key);
        wanted.check_station(key, name_of(asked));
    }
    const emulator_config made = translate(wanted);
    const std::int64_t t = std::max<std::int64_t>(0, now());
    path_->carrier->apply(made, t);
    const bool delayed = std::ranges::any_of(
        changed, [](const auto& key) { return key.starts_with("delay_injection."); });
    if (delayed) links().apply(made, t);
    for (auto& s : stations) s.telemetry.set_rates(made.telemetry);
    packet_records_.set_rate(made.telemetry.packets_per_second);
    settle(wanted, changed, asked == station::air ? station::air : station::base);
    return true;
}

void link_process::end_expired_settings() {
    const auto moved = path_->carrier->moved_settings(now());
    if (moved.empty()) return;
    for (const auto& [key, value] : moved) replace(key, value);
    path_->carrier->apply(translate(settings), now());
}

}  // namespace

std::unique_ptr<emulator_process> make_link_process(zmq::context_t& context,
                                                    const config::settings& settings,
                                                    const emulator_config& config) {
    return std::make_unique<link_process>(std::make_unique<pair_path>(config), context, settings,
                                          config);
}

}  // namespace wip::emulator
