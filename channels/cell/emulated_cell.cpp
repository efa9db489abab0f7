// SPDX-License-Identifier: GPL-3.0-or-later
#include "cell/emulated_cell.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "bin/failed_symbol.h"
#include "queue/packet_queue.h"
#include "types/db.h"

namespace wip::cell_model {
namespace {

constexpr float blackout_gain = 1e-10F;
// Weight of a new slot in the running mean of the SNR: a time constant of one second.
constexpr double forget = 1.0 / slots_per_second;

db snr_of(float linear) { return db(10 * std::log10(std::max(linear, 1e-10F))); }

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
      to_base_(config.to_base, packet_model::to_base_purpose),
      from_base_(config.from_base, packet_model::from_base_purpose) {
    if (static_cast<int>(sources.size()) != config.cell.users)
        throw std::invalid_argument(
            "the number of SNR sources is " + std::to_string(sources.size()) +
            "; valid: " + std::to_string(config.cell.users) + ", one for each terminal");
    if (config.errors == bin_model::error_method::computed) prepare_errors();
    for (int u = 0; u < users(); ++u)
        terminals_.emplace_back(
            config, u, std::move(sources[static_cast<std::size_t>(u)]),
            [this, u](std::span<const std::uint8_t> packet, bool) {
                auto& t = terminals_[static_cast<std::size_t>(u)];
                t.staged.add(packet.size());
                to_terminal_.push_back({slot_start(now_ + slot_count(1)),
                                        u,
                                        record_ ? t.reports.count() : 0,
                                        {packet.begin(), packet.end()}});
            },
            [this, u](const packet_record& r) { record_(u, r); }, failures_);
    if (config.radio_uplink) {
        if (users() != 1)
            throw std::invalid_argument(
                "uplink.kind is radio; valid with several terminals: emulated");
        terminals_.front().radio = std::make_unique<radio_uplink_path>(radio_config());
        scheduler_.reserve_grant_bits(0, 1);
    }
    for (auto& t : terminals_)
        t.up().deliver_to([this](const link_packet& p) {
            from_base_.offer(p.data, p.due_ns, p.tag);
            return 0;
        });
    from_base_.deliver_to([this](const link_packet& p) { return uplink_.leave(p); });
    to_base_.deliver_to([this](const link_packet& p) {
        terminals_[static_cast<std::size_t>(p.tag)].journal.set_now(p.due_ns,
                                                                    p.due_ns - p.offered_ns);
        scheduler_.on_sdu(p.tag, p.data, p.due_ns);
        return 0;
    });
}

void emulated_cell::prepare_errors() {
    if (!failures_)
        failures_ = std::make_shared<bin_model::failure_tables>(config_.cell.link.eight);
}

bool emulated_cell::direction::offer(std::span<const std::uint8_t> packet, std::int64_t now_ns,
                                     int user) {
    if (to_ == side::terminal) return cell_->to_base_.offer(packet, now_ns, user);
    return cell_->terminals_[static_cast<std::size_t>(user)].up().offer(
        packet, slot_start(cell_->now_), user);
}

link_sums emulated_cell::direction::sums() const {
    const auto& wired = to_ == side::terminal ? cell_->to_base_ : cell_->from_base_;
    link_sums all = wired.sums();
    const auto drop = [&all](const char* reason, const packets_bytes& count) {
        for (auto& d : all.dropped)
            if (std::string_view(d.reason) == reason) {
                d.count += count;
                return;
            }
        all.dropped.push_back({reason, count});
    };
    if (to_ == side::terminal) {
        // The base station's `in` is what came from the wired network, or straight to it.
        all.in -= all.delivered;
        all.delivered = {};
        for (int u = 0; u < cell_->users(); ++u) {
            const auto& s = cell_->scheduler_.user(u).statistics();
            all.in += s.in;
            all.delivered += s.sent;
            all.queued += s.queued;
            all.marked += s.marked;
            drop("queue_full", s.dropped_queue_full);
            drop(managed_drop, s.dropped_queue_managed);
            drop("not_ip", s.dropped_not_ip);
            drop("retransmissions_exceeded", s.dropped_retransmissions);
        }
        return all;
    }
    all.in = {};
    for (const auto& t : cell_->terminals_) {
        const auto of_line = t.up().sums();
        all.in += of_line.in;
        all.queued += of_line.queued;
        all.marked += of_line.marked;
        for (const auto& d : of_line.dropped) drop(d.reason, d.count);
    }
    return all;
}

bool emulated_cell::direction::idle() const {
    const auto& c = *cell_;
    if (to_ == side::terminal)
        return c.scheduler_.idle() && c.to_terminal_.empty() && c.to_base_.idle();
    return c.from_base_.idle() &&
           std::ranges::all_of(c.terminals_, [](const auto& t) { return t.up().idle(); });
}

bool emulated_cell::into_queue(int user, std::span<const std::uint8_t> packet) {
    // A packet that arrives between two slots is journalled as arriving at the start of the next
    // one.
    terminals_[static_cast<std::size_t>(user)].journal.set_now(
        started_ ? slot_start(now_ + slot_count(1)) : slot_start(now_));
    return scheduler_.on_sdu(user, packet, slot_start(started_ ? now_ + slot_count(1) : now_));
}

void emulated_cell::run_slot(slot k) {
    // The packet reports of the previous slot: only now is it known which of its packets the
    // interface has taken.
    if (record_)
        for (auto& t : terminals_) take_reports(t);
    const std::int64_t t = slot_start(k);
    for (auto& u : terminals_) u.up().advance(t);
    now_ = k;
    started_ = true;
    if (auto* radio = terminals_.front().radio.get()) {
        if (const auto feedback = radio->receive(k)) scheduler_.on_feedback(0, *feedback);
        radio->transmit(k);
        scheduler_.reserve_grant_bits(0, radio->plan(k, scheduler_.user(0).units_waiting()));
    }
    to_base_.advance(t);
    for (auto& u : terminals_) u.journal.set_now(t);
    plans_ = scheduler_.plan(k);
    for (std::size_t u = 0; u < terminals_.size(); ++u) {
        carry(terminals_[u], plans_[u]);
        feed_back(terminals_[u], static_cast<int>(u),
                  terminals_[u].mac.on_slot(terminals_[u].report));
    }
}

void emulated_cell::feed_back(terminal_end& t, int user, const slot_feedback& feedback) {
    if (t.radio) {
        t.radio->on_feedback(feedback);
        t.radio->carry(t.snr);
    } else if (!t.uplink.feedback_lost()) {
        scheduler_.on_feedback(user, feedback);
    }
}

radio_uplink_path_config emulated_cell::radio_config() const {
    radio_uplink_path_config c;
    c.mac = *config_.radio_uplink;
    c.mac.profile = config_.cell.link.profile;
    c.mac.delay_slots = config_.cell.link.retransmission_delay_slots;
    c.mac.queue_packets = config_.uplink.queue_packets;
    c.mac.queue = config_.uplink.queue;
    c.snr_offset_db = config_.uplink_snr_offset_db;
    c.feedback_loss = config_.uplink.feedback_loss;
    c.air = {config_.errors,
             config_.cell.link.combining,
             config_.cell.link.profile,
             config_.seed ^ 0x55504C4BULL,
             config_.cell.link.eight,
             failures_};
    return c;
}

const slot_report& emulated_cell::report(int user) {
    auto& t = terminals_[static_cast<std::size_t>(user)];
    for (std::size_t b = 0; b < nof_bins; ++b) t.report.snr_db[b] = snr_of(t.snr[b]).single();
    return t.report;
}

void emulated_cell::keep_symbols(bool on) {
    for (auto& t : terminals_) t.air.keep_symbols(on);
}

void emulated_cell::take_reports(terminal_end& t) {
    t.journal.on_reports(t.reports.reports(), t.reports.count(), t.mac.decided_before(), now_);
    t.reports.clear();
}

void emulated_cell::follow_packets(record_fn sink) {
    record_ = std::move(sink);
    for (auto& p : to_terminal_) p.report = 0;
    for (int u = 0; u < users(); ++u) {
        auto& t = terminals_[static_cast<std::size_t>(u)];
        t.reports.restart();
        t.mac.report_to(record_ ? &t.reports : nullptr);
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
        t.report.predicted_snr_db[b] = snr_of(predicted[b]).single();
    }
    t.report.prediction_nmse = static_cast<float>(t.prediction.nmse());
    t.mean_snr += (mean - t.mean_snr) * (t.mean_snr == 0 ? 1 : forget);
}

void emulated_cell::advance(std::int64_t now_ns) {
    for (;;) {
        const slot k = next_slot();
        const std::int64_t start = slot_start(k);
        release(std::min(now_ns, start));
        if (start > now_ns) return;
        if (watch_.before) watch_.before(k);
        run_slot(k);
        if (watch_.after) watch_.after(k);
    }
}

void emulated_cell::release(std::int64_t now_ns) {
    for (; !to_terminal_.empty() && to_terminal_.front().due_ns <= now_ns;
         to_terminal_.pop_front()) {
        const auto& p = to_terminal_.front();
        const int error = downlink_.leave({p.data, p.tag, p.due_ns, p.due_ns});
        if (error != 0 && p.report != 0)
            terminals_[static_cast<std::size_t>(p.tag)].reports.refuse(p.report, error);
    }
    from_base_.advance(now_ns);
}

std::int64_t emulated_cell::next_due() const {
    const std::int64_t next = from_base_.next_wakeup();
    return to_terminal_.empty() ? next : std::min(next, to_terminal_.front().due_ns);
}

void emulated_cell::reconfigure(const cell_config& cell) {
    scheduler_.reconfigure(cell);
    for (auto& t : terminals_) t.air.set_combining(cell.link.combining);
    config_.cell = cell;
    if (auto* radio = terminals_.front().radio.get()) radio->reconfigure(radio_config());
}

void emulated_cell::reconfigure(bin_model::error_method errors) {
    if (errors == bin_model::error_method::computed) prepare_errors();
    for (auto& t : terminals_) {
        t.air.set_errors(errors, failures_);
        if (t.radio) t.radio->set_errors(errors, failures_);
    }
    config_.errors = errors;
}

void emulated_cell::replace(std::vector<snr_source> sources) {
    if (sources.size() != terminals_.size())
        throw std::invalid_argument(
            "the number of SNR sources is " + std::to_string(sources.size()) +
            "; valid: " + std::to_string(terminals_.size()) + ", one for each terminal");
    for (std::size_t u = 0; u < sources.size(); ++u) {
        terminals_[u].source = std::move(sources[u]);
        terminals_[u].prediction = {};  // NMSE of this channel, not of both
    }
}

void emulated_cell::reconfigure(const uplink_config& uplink) {
    for (int u = 0; u < users(); ++u)
        terminals_[static_cast<std::size_t>(u)].uplink.reconfigure(of_user(uplink, u));
    config_.uplink = uplink;
    if (auto* radio = terminals_.front().radio.get()) radio->reconfigure(radio_config());
}

void emulated_cell::reconfigure(const packet_model::wired_config& to_base,
                                const packet_model::wired_config& from_base) {
    to_base_.reconfigure(to_base);
    from_base_.reconfigure(from_base);
}

bool emulated_cell::idle() const { return downlink_.idle() && uplink_.idle(); }

base_end_status emulated_cell::base_status(int user) const {
    const auto& t = end(user);
    return {now_, scheduler_.user(user).statistics(), t.line().delivered, t.uplink.on_the_way(),
            t.line().feedback};
}

terminal_end_status emulated_cell::terminal_status(int user) const {
    const auto& t = end(user);
    packets_bytes waiting;
    for (const auto& p : to_terminal_)
        if (p.tag == user) waiting.add(p.data.size());
    return {now_,       t.mac.statistics(), waiting, t.staged - waiting, t.line(),
            t.mean_snr, t.prediction.nmse()};
}

}  // namespace wip::cell_model
