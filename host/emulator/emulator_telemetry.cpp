// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_telemetry.h"

#include <algorithm>
#include <cmath>

#include "station/slot_sample.h"
#include "types/point_code.h"

namespace wip::emulator {

using host::topic;

emulator_telemetry::emulator_telemetry(emulated_cell& cell, host::telemetry_port& base,
                                       host::telemetry_port& terminal, const cell_config& config,
                                       int packets_per_second)
    : cell_(&cell),
      base_(&base),
      terminal_(&terminal),
      server_(base),
      packets_(packets_per_second),
      profile_(config.link.profile) {
    for (int u = 0; u < cell.users(); ++u)
        users_.emplace_back(base, terminal, config.link.profile, u);
}

emulator_telemetry::~emulator_telemetry() {
    flush();
    if (following_packets_) cell_->follow_packets(nullptr);
}

void emulator_telemetry::flush() {
    if (following_packets_) packets_.flush(done_, cell_->packet_totals().skipped, *base_);
}

void emulator_telemetry::passed(emulated_cell::side side, int user, host::ip_log::way way,
                                std::span<const std::uint8_t> packet, std::int64_t time_ns,
                                std::optional<std::uint64_t> number) {
    const bool server = side == emulated_cell::side::server;
    const bool in = way == host::ip_log::way::in;
    auto& log = server ? server_ : users_[static_cast<std::size_t>(user)].ip;
    log.add(way, server == in ? host::ip_log::link::down : host::ip_log::link::up, packet, time_ns,
            number);
}

void emulator_telemetry::prepare(slot k) {
    cell_->keep_symbols(terminal_->due(topic::receiver, k));
}

void emulator_telemetry::publish(slot k) {
    publish_packets(done_ = k);
    // Each turn publishes one slot, except after a change of the retransmission delay.
    const slot last = cell_->base(0).resolved();
    for (slot j = published_ + slot_count(1); j <= last; ++j) publish_settled(published_ = j);
    publish_frames(k);
    if (terminal_->due(topic::slot, k)) publish_measured(k);
    if (terminal_->due(topic::receiver, k)) publish_symbols(k);
    server_.slot_done(k);
    for (auto& user : users_) user.ip.slot_done(k);
}

void emulator_telemetry::publish_packets(slot k) {
    const bool wanted = base_->wanted(topic::packet) || base_->wanted(topic::frames);
    if (wanted != following_packets_) {
        following_packets_ = wanted;
        packets_.begin();
        if (wanted)
            cell_->follow_packets([this](int user, const packet_record& r) {
                if (base_->wanted(topic::packet)) packets_.add(r, user);
            });
        else
            cell_->follow_packets(nullptr);
    }
    if (wanted) packets_.slot_done(k, cell_->packet_totals().skipped, *base_);
}

// The retransmission delay of all users is the same.
void emulator_telemetry::publish_settled(slot j) {
    if (!base_->due(topic::slot, j) || cell_->base(0).record(j).air != j) return;
    std::string user_of_bin(nof_bins, host::no_user);
    for (int u = 0; u < cell_->users(); ++u)
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (cell_->base(u).record(j).bits_per_symbol[b] != 0)
                user_of_bin[b] = static_cast<char>(u);
    for (int u = 0; u < cell_->users(); ++u) {
        auto& sample = *base_->message(topic::slot).mutable_slot_sample();
        host::fill_sample(cell_->base(u).record(j), sample);
        sample.set_user(user_of_bin);
        base_->publish(topic::slot, j, u);
    }
}

void emulator_telemetry::publish_frames(slot k) {
    const bool sent = base_->due(topic::frames, k), received = terminal_->due(topic::frames, k);
    for (int u = 0; u < cell_->users(); ++u) {
        auto& user = users_[static_cast<std::size_t>(u)];
        if (sent || received) pack(cell_->plan(u).grant);
        if (sent)
            user.sent.add(cell_->plan(u), grant_, cell_->base(u).record(k), cell_->journal(u));
        if (received) user.received.add(cell_->report(u), grant_);
        user.sent.slot_done(k);
        user.received.slot_done(k);
    }
}

// The terminal receives exactly the grant that was sent. Empty: the grant does not pack (the
// profile wipemu has no such limit).
void emulator_telemetry::pack(const slot_grant& grant) {
    packed_grant packed;
    grant_.clear();
    if (pack_grant(grant, profile_, packed))
        grant_.assign(reinterpret_cast<const char*>(packed.data()), packed.size());
}

void emulator_telemetry::publish_measured(slot k) {
    for (int u = 0; u < cell_->users(); ++u) {
        auto& sample = *terminal_->message(topic::slot).mutable_slot_sample();
        host::fill_sample(cell_->report(u), cell_->loop_slots(), sample);
        for (const float snr : cell_->true_snr(u))
            sample.add_true_snr_db(10 * std::log10(std::max(snr, 1e-10F)));
        terminal_->publish(topic::slot, k, u);
    }
}

void emulator_telemetry::publish_symbols(slot k) {
    for (int u = 0; u < cell_->users(); ++u) {
        const auto& symbols = cell_->symbols(u);
        if (symbols.made == 0) continue;
        auto& sample = *terminal_->message(topic::receiver).mutable_receiver();
        sample.Clear();
        auto& points = *sample.mutable_points();
        auto& counts = *sample.mutable_symbols_of_bin();
        auto& bits = *sample.mutable_bits_per_symbol();
        counts.assign(nof_bins, '\0');
        bits.assign(nof_bins, '\0');
        for (std::size_t b = 0; b < nof_bins; ++b) {
            bits[b] = static_cast<char>(cell_->plan(u).grant.bins[b].bits_per_symbol);
            if ((symbols.made >> b & 1U) == 0) continue;
            counts[b] = static_cast<char>(payload_symbols_per_bin);
            for (const auto& p : symbols.of_bin[b]) {
                points.push_back(point_code(p.real()));
                points.push_back(point_code(p.imag()));
            }
        }
        sample.mutable_state()->set_mode("locked");
        terminal_->publish(topic::receiver, k, u);
    }
}

}  // namespace wip::emulator
