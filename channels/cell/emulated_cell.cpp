// SPDX-License-Identifier: GPL-3.0-or-later
#include "cell/emulated_cell.h"

#include <algorithm>
#include <cmath>

#include "bin/failed_symbol.h"

namespace wip::cell_model {
namespace {

// Of a seed that is shared: which of its uses.
constexpr std::uint32_t to_base_purpose = 0x57495201, from_base_purpose = 0x57495202;
constexpr float blackout_gain = 1e-10F;
// Running mean of the SNR: a second.
constexpr double forget = 1.0 / slots_per_second;

float to_db(float linear) { return 10 * std::log10(std::max(linear, 1e-10F)); }

void add(packets_bytes& c, std::size_t bytes) { ++c.packets, c.bytes += bytes; }
void take(packets_bytes& c, std::size_t bytes) { --c.packets, c.bytes -= bytes; }

uplink_config of_user(uplink_config c, int user) {
    c.seed += static_cast<std::uint64_t>(user) << 32;
    return c;
}

}  // namespace

emulated_cell::terminal_end::terminal_end(const emulation_config& c, int user, snr_source from,
                                          terminal_mac::deliver_fn deliver,
                                          packet_journal::sink_fn record,
                                          std::shared_ptr<const bin_model::failure_tables> failures)
    : source(std::move(from)),
      mac(c.cell.link, std::move(deliver)),
      air({c.errors, c.cell.link.combining, c.cell.link.profile,
           c.seed + (static_cast<std::uint64_t>(user) << 32), c.cell.link.eight,
           std::move(failures)}),
      uplink(of_user(c.uplink, user)),
      journal(std::move(record)) {}

emulated_cell::emulated_cell(const emulation_config& config, std::vector<snr_source> sources)
    : config_(config),
      scheduler_(config.cell),
      to_base_(config.to_base, to_base_purpose),
      from_base_(config.from_base, from_base_purpose) {
    if (static_cast<int>(sources.size()) != config.cell.users)
        throw std::invalid_argument("sources: one for each user");
    if (config.errors == bin_model::error_method::computed) prepare_errors();
    for (int u = 0; u < users(); ++u)
        terminals_.emplace_back(
            config, u, std::move(sources[static_cast<std::size_t>(u)]),
            [this, u](std::span<const std::uint8_t> packet, bool) {
                auto& t = terminals_[static_cast<std::size_t>(u)];
                add(t.staged, packet.size());
                to_terminal_.push_back({slot_start(now_ + slot_count(1)),
                                        u,
                                        record_ ? t.words.count() : 0,
                                        {packet.begin(), packet.end()}});
            },
            [this, u](const packet_record& r) { record_(u, r); }, failures_);
}

void emulated_cell::prepare_errors() {
    if (!failures_)
        failures_ = std::make_shared<bin_model::failure_tables>(config_.cell.link.eight);
    for (auto& t : terminals_) t.air.use_failures(failures_);
}

void emulated_cell::from_server(int user, std::span<const std::uint8_t> packet,
                                std::int64_t now_ns) {
    to_base_.offer(packet, now_ns, user);
}

// Between the starts of slots now_ and now_ + 1: it may be sent from slot now_ on.
void emulated_cell::from_terminal(int user, std::span<const std::uint8_t> packet) {
    terminals_[static_cast<std::size_t>(user)].uplink.on_sdu(packet, now_);
}

bool emulated_cell::into_queue(int user, std::span<const std::uint8_t> packet) {
    // Until the next slot starts, at that time.
    terminals_[static_cast<std::size_t>(user)].journal.set_now(
        started_ ? slot_start(now_ + slot_count(1)) : slot_start(now_));
    return scheduler_.on_sdu(user, packet, now_);
}

void emulated_cell::take_uplink(slot k) {
    for (std::size_t u = 0; u < terminals_.size(); ++u) {
        auto& t = terminals_[u];
        for (auto& p : t.uplink.on_slot(k - slot_count(1))) {
            add(t.uplink_in, p.data.size());
            add(t.on_the_way_count, p.data.size());
            t.on_the_way.push_back(std::move(p));
        }
        for (; !t.on_the_way.empty() && t.on_the_way.front().arrival <= k;
             t.on_the_way.pop_front()) {
            const auto& p = t.on_the_way.front();
            take(t.on_the_way_count, p.data.size());
            from_base_.offer(p.data, slot_start(k), static_cast<int>(u));
        }
    }
}

void emulated_cell::run_slot(slot k) {
    // Of the slot before: its packets have been written since.
    if (record_)
        for (auto& t : terminals_) take_words(t);
    take_uplink(k);
    now_ = k;
    started_ = true;
    const std::int64_t t = slot_start(k);
    for (const auto* p = to_base_.front(); p != nullptr && p->due_ns <= t; p = to_base_.front()) {
        terminals_[static_cast<std::size_t>(p->tag)].journal.set_now(p->due_ns,
                                                                     p->due_ns - p->offered_ns);
        scheduler_.on_sdu(p->tag, p->data, k);
        to_base_.pop();
    }
    for (auto& u : terminals_) u.journal.set_now(t);
    plans_ = scheduler_.plan(k);
    for (std::size_t u = 0; u < terminals_.size(); ++u) {
        carry(terminals_[u], plans_[u]);
        const slot_feedback feedback = terminals_[u].mac.on_slot(terminals_[u].report);
        if (!terminals_[u].uplink.feedback_lost())
            scheduler_.on_feedback(static_cast<int>(u), feedback);
    }
}

void emulated_cell::keep_symbols(bool on) {
    for (auto& t : terminals_) t.air.keep_symbols(on);
}

void emulated_cell::take_words(terminal_end& t) {
    t.journal.on_words(t.words.words(), t.words.count(), t.mac.decided_before(), now_);
    t.words.clear();
}

void emulated_cell::follow_packets(record_fn sink) {
    record_ = std::move(sink);
    for (auto& p : to_terminal_) p.word = 0;
    for (int u = 0; u < users(); ++u) {
        auto& t = terminals_[static_cast<std::size_t>(u)];
        t.words.restart();
        t.mac.report_to(record_ ? &t.words : nullptr);
        scheduler_.follow_packets(u, record_ ? &t.journal : nullptr);
    }
}

packet_journal::totals emulated_cell::packet_totals() const {
    packet_journal::totals sum;
    for (const auto& t : terminals_) {
        sum.in += t.journal.count().in;
        sum.recorded += t.journal.count().recorded;
        sum.skipped += t.journal.count().skipped;
        sum.unmatched += t.journal.count().unmatched;
    }
    return sum;
}

void emulated_cell::carry(terminal_end& t, const slot_plan& plan) {
    const slot k = plan.air;
    const slot ahead = k + slot_count(config_.cell.link.retransmission_delay_slots);
    std::array<float, nof_bins> predicted{};
    t.source.channel->snr(k, t.snr);
    t.source.prediction->predicted_snr(ahead, predicted);
    if (dark(k)) {
        for (float& snr : t.snr) snr *= blackout_gain;
        for (float& snr : predicted) snr *= blackout_gain;
    }
    t.prediction.happened(k, t.snr);
    t.prediction.predicted(ahead, predicted);
    t.air.carry(plan, t.snr, t.report);
    double mean = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        mean += static_cast<double>(t.snr[b]) / nof_bins;
        t.report.snr_db[b] = to_db(t.snr[b]);
        t.report.predicted_snr_db[b] = to_db(predicted[b]);
    }
    t.report.prediction_nmse = static_cast<float>(t.prediction.nmse());
    t.mean_snr += (mean - t.mean_snr) * (t.mean_snr == 0 ? 1 : forget);
}

std::int64_t emulated_cell::next_due() const {
    std::int64_t next = no_next;
    if (!to_terminal_.empty()) next = to_terminal_.front().due_ns;
    if (const auto* p = from_base_.front()) next = std::min(next, p->due_ns);
    return next;
}

void emulated_cell::reconfigure(const cell_config& cell) {
    scheduler_.reconfigure(cell);
    for (auto& t : terminals_) t.air.set_combining(cell.link.combining);
    config_.cell = cell;
}

void emulated_cell::reconfigure(bin_model::error_method errors) {
    if (errors == bin_model::error_method::computed) prepare_errors();
    for (auto& t : terminals_) t.air.set_errors(errors);
    config_.errors = errors;
}

void emulated_cell::replace(std::vector<snr_source> sources) {
    if (sources.size() != terminals_.size())
        throw std::invalid_argument("sources: one for each user");
    for (std::size_t u = 0; u < sources.size(); ++u) {
        terminals_[u].source = std::move(sources[u]);
        terminals_[u].prediction = {};  // NMSE of this channel, not of both
    }
}

void emulated_cell::reconfigure(const uplink_config& uplink) {
    for (int u = 0; u < users(); ++u)
        terminals_[static_cast<std::size_t>(u)].uplink.reconfigure(of_user(uplink, u));
}

bool emulated_cell::idle() const {
    return scheduler_.idle() && to_terminal_.empty() && to_base_.front() == nullptr &&
           from_base_.front() == nullptr && std::ranges::all_of(terminals_, [](const auto& t) {
               return t.on_the_way.empty() && t.uplink.statistics().queued.packets == 0;
           });
}

base_end_status emulated_cell::base_status(int user) const {
    const auto& t = end(user);
    return {now_, scheduler_.user(user).statistics(), t.uplink_in, t.on_the_way_count,
            t.uplink.statistics().feedback};
}

terminal_end_status emulated_cell::terminal_status(int user) const {
    const auto& t = end(user);
    packets_bytes waiting;
    for (const auto& p : to_terminal_)
        if (p.tag == user) add(waiting, p.data.size());
    return {now_,
            t.mac.statistics(),
            waiting,
            {t.staged.packets - waiting.packets, t.staged.bytes - waiting.bytes},
            t.uplink.statistics(),
            t.mean_snr,
            t.prediction.nmse()};
}

}  // namespace wip::cell_model
