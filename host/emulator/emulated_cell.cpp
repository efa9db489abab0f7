// SPDX-License-Identifier: GPL-3.0-or-later
#include "emulator/emulated_cell.h"

#include <algorithm>
#include <cmath>

#include "app/mac_status.h"
#include "app/packet_gate.h"

namespace wip::emulator {
namespace {

// Of a seed that is shared: which of its uses.
constexpr std::uint32_t to_base_purpose = 0x57495201, from_base_purpose = 0x57495202;
// Running means of the status: a second.
constexpr double forget = 1.0 / slots_per_second;

float to_db(float linear) { return 10 * std::log10(std::max(linear, 1e-10F)); }

packets_bytes count(const packet_model::wired_count& c) { return {c.packets, c.bytes}; }

packets_bytes sum(const packets_bytes& a, const packets_bytes& b) {
    return {a.packets + b.packets, a.bytes + b.bytes};
}

void add(packets_bytes& c, std::size_t bytes) { ++c.packets, c.bytes += bytes; }
void take(packets_bytes& c, std::size_t bytes) { --c.packets, c.bytes -= bytes; }

void add_to(openwip::control::PacketsBytes& c, const packets_bytes& more) {
    c.set_packets(c.packets() + more.packets);
    c.set_bytes(c.bytes() + more.bytes);
}

}  // namespace

emulated_cell::emulated_cell(const cell_config& config, snr_source source)
    : config_(config),
      source_(std::move(source)),
      base_(config.link),
      terminal_(config.link,
                [this](std::span<const std::uint8_t> packet, bool) {
                    to_terminal_.push_back(
                        {slot_start(now_ + slot_count(1)), {packet.begin(), packet.end()}});
                }),
      air_({config.errors, config.link.combining, config.link.profile, config.seed}),
      uplink_(config.uplink),
      to_base_(config.to_base, to_base_purpose),
      from_base_(config.from_base, from_base_purpose) {}

void emulated_cell::from_server(std::span<const std::uint8_t> packet, std::int64_t now_ns) {
    to_base_.offer(packet, now_ns);
}

// Between the starts of slots now_ and now_ + 1: it may be sent from slot now_ on.
void emulated_cell::from_terminal(std::span<const std::uint8_t> packet) {
    uplink_.on_sdu(packet, now_);
}

void emulated_cell::take_uplink(slot k) {
    for (auto& p : uplink_.on_slot(k - slot_count(1))) {
        add(uplink_in_, p.data.size());
        add(on_the_way_count_, p.data.size());
        on_the_way_.push_back(std::move(p));
    }
    for (; !on_the_way_.empty() && on_the_way_.front().arrival <= k; on_the_way_.pop_front()) {
        const auto& p = on_the_way_.front();
        take(on_the_way_count_, p.data.size());
        from_base_.offer(p.data, slot_start(p.arrival));
    }
}

void emulated_cell::run_slot(slot k) {
    take_uplink(k);
    now_ = k;
    const std::int64_t t = slot_start(k);
    for (const auto* p = to_base_.front(); p != nullptr && p->due_ns <= t; p = to_base_.front()) {
        base_.on_sdu(p->data, k);
        to_base_.pop();
    }
    slot_plan plan = base_.plan(k);
    source_.channel->snr(k, snr_);
    source_.prediction->predicted_snr(k + slot_count(config_.link.retransmission_delay_slots),
                                      predicted_);
    air_.carry(plan, snr_, report_);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        report_.snr_db[b] = to_db(snr_[b]);
        report_.predicted_snr_db[b] = to_db(predicted_[b]);
    }
    const slot_feedback feedback = terminal_.on_slot(report_);
    if (!uplink_.feedback_lost()) base_.on_feedback(feedback);
    note(plan, report_);
}

void emulated_cell::note(const slot_plan& plan, const slot_report& report) {
    double mean = 0;
    for (const float g : snr_) mean += g;
    mean_snr_ += (mean / nof_bins - mean_snr_) * (mean_snr_ == 0 ? 1 : forget);
    sample_.mutable_snr_db()->Assign(report.snr_db.begin(), report.snr_db.end());
    sample_.mutable_predicted_snr_db()->Assign(report.predicted_snr_db.begin(),
                                               report.predicted_snr_db.end());
    auto& bits = *sample_.mutable_bits_per_symbol();
    auto& outcome = *sample_.mutable_outcome();
    bits.resize(nof_bins);
    outcome.resize(nof_bins);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        bits[b] = static_cast<char>(plan.grant.bins[b].bits_per_symbol);
        outcome[b] = static_cast<char>(report.outcome[b]);
    }
}

std::int64_t emulated_cell::next_due() const {
    std::int64_t next = no_next;
    if (!to_terminal_.empty()) next = to_terminal_.front().due_ns;
    if (const auto* p = from_base_.front()) next = std::min(next, p->due_ns);
    return next;
}

void emulated_cell::reconfigure(const link_config& link) {
    base_.reconfigure(link);
    air_.set_combining(link.combining);
    config_.link = link;
}

void emulated_cell::reconfigure(const uplink_config& uplink) { uplink_.reconfigure(uplink); }

bool emulated_cell::idle() const {
    return base_.idle() && to_terminal_.empty() && on_the_way_.empty() &&
           to_base_.front() == nullptr && from_base_.front() == nullptr &&
           uplink_.statistics().queued.packets == 0;
}

void emulated_cell::fill_base(openwip::control::MacStatus& status) const {
    status.set_slot(now_.value);
    auto& down = *status.mutable_downlink();
    host::fill_downlink_sent(base_.statistics(), down);
    const auto& wired = to_base_.statistics();
    host::set(*down.mutable_in(), count(wired.in));
    add_to(*down.mutable_queued(), count(wired.queued));
    host::add_drop(down, "wired_loss", count(wired.lost));
    host::add_drop(down, "wired_queue_full", count(wired.refused));

    auto& up = *status.mutable_uplink();
    const auto& back = from_base_.statistics();
    host::set(*up.mutable_in(), uplink_in_);
    host::set(*up.mutable_queued(), sum(on_the_way_count_, count(back.queued)));
    host::add_drop(up, "wired_loss", count(back.lost));
    host::add_drop(up, "wired_queue_full", count(back.refused));
    host::set(*status.mutable_uplink_feedback(), uplink_.statistics().feedback);
    host::fill_base(base_.statistics(), status);
}

void emulated_cell::fill_terminal(openwip::control::MacStatus& status) const {
    status.set_slot(now_.value);
    auto& down = *status.mutable_downlink();
    host::fill_downlink_received(terminal_.statistics(), down);
    packets_bytes waiting;
    for (const auto& p : to_terminal_) add(waiting, p.data.size());
    host::set(*down.mutable_queued(), waiting);
    host::fill_uplink_sent(uplink_.statistics(), {}, status);
    host::fill_terminal(terminal_.statistics(), status);
    auto& r = *status.mutable_radio();
    r.set_locked(true);
    r.set_locks(1);
    r.set_mean_snr_db(mean_snr_ > 0 ? 10 * std::log10(mean_snr_) : 0);
}

}  // namespace wip::emulator
