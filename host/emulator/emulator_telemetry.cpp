// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulator_telemetry.h"

#include <algorithm>
#include <cmath>

#include "app/frame_batch.h"
#include "app/slot_sample.h"
#include "types/point_code.h"

namespace wip::emulator {

using host::topic;

emulator_telemetry::emulator_telemetry(emulated_cell& cell, host::telemetry_port& base,
                                       host::telemetry_port& terminal, const cell_config& config)
    : cell_(&cell),
      base_(&base),
      terminal_(&terminal),
      profile_(config.link.profile),
      server_(base) {
    for (int u = 0; u < cell.users(); ++u) terminals_.emplace_back(terminal);
}

void emulator_telemetry::passed(emulated_cell::side side, int user, host::ip_log::way way,
                                std::span<const std::uint8_t> packet, std::int64_t time_ns,
                                std::optional<std::uint64_t> number) {
    const bool server = side == emulated_cell::side::server;
    const bool in = way == host::ip_log::way::in;
    auto& log = server ? server_ : terminals_[static_cast<std::size_t>(user)];
    log.add(way, server == in ? host::ip_log::link::down : host::ip_log::link::up, packet, time_ns,
            number);
}

void emulator_telemetry::prepare(slot k) {
    cell_->keep_symbols(terminal_->due(topic::receiver, k));
}

void emulator_telemetry::publish(slot k) {
    // One slot in each turn, but after a change of the loop's length.
    const slot last = cell_->base(0).settled();
    for (slot j = published_ + slot_count(1); j <= last; ++j) publish_settled(published_ = j);
    if (base_->due(topic::frames, k)) publish_sent(k);
    if (terminal_->due(topic::slot, k) || terminal_->due(topic::frames, k)) publish_received(k);
    if (terminal_->due(topic::receiver, k)) publish_symbols(k);
    server_.publish(k);
    for (int u = 0; u < cell_->users(); ++u) terminals_[static_cast<std::size_t>(u)].publish(k, u);
}

// All users' loops are of one length.
void emulator_telemetry::publish_settled(slot j) {
    if (!base_->due(topic::slot, j) || cell_->base(0).record(j).air != j) return;
    std::string whose(nof_bins, host::no_user);
    for (int u = 0; u < cell_->users(); ++u)
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (cell_->base(u).record(j).bits_per_symbol[b] != 0) whose[b] = static_cast<char>(u);
    for (int u = 0; u < cell_->users(); ++u) {
        auto& sample = *base_->message(topic::slot).mutable_slot_sample();
        host::fill_sample(cell_->base(u).record(j), sample);
        sample.set_user(whose);
        base_->publish(topic::slot, j, u);
    }
}

void emulator_telemetry::publish_sent(slot k) {
    for (int u = 0; u < cell_->users(); ++u) {
        auto& batch = *base_->message(topic::frames).mutable_frames();
        const slot_record& record = cell_->base(u).record(k);
        if (!host::fill_frames(cell_->plan(u), record, profile_, u, batch)) continue;
        for (auto& f : *batch.mutable_frame())
            cell_->journal(u).packets_in(static_cast<wire_sn>(f.sn()),
                                         [&f](std::uint64_t number) { f.add_packet(number); });
        base_->publish(topic::frames, k, u);
    }
}

void emulator_telemetry::publish_received(slot k) {
    for (int u = 0; u < cell_->users(); ++u) {
        if (terminal_->due(topic::slot, k)) {
            auto& sample = *terminal_->message(topic::slot).mutable_slot_sample();
            host::fill_sample(cell_->report(u), cell_->loop_slots(), sample);
            for (const float snr : cell_->true_snr(u))
                sample.add_true_snr_db(10 * std::log10(std::max(snr, 1e-10F)));
            terminal_->publish(topic::slot, k, u);
        }
        if (terminal_->due(topic::frames, k)) {
            auto& batch = *terminal_->message(topic::frames).mutable_frames();
            if (host::fill_frames(cell_->report(u), profile_, u, batch))
                terminal_->publish(topic::frames, k, u);
        }
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
            bits[b] = static_cast<char>(cell_->report(u).grant.bins[b].bits_per_symbol);
            if ((symbols.made >> b & 1U) == 0) continue;
            counts[b] = static_cast<char>(payload_symbols_per_bin);
            for (const auto& p : symbols.of_bin[b]) {
                points.push_back(point_code(p.real()));
                points.push_back(point_code(p.imag()));
            }
        }
        sample.set_mode("locked");
        terminal_->publish(topic::receiver, k, u);
    }
}

}  // namespace wip::emulator
