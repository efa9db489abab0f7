// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/transmit_core.h"

#include <algorithm>
#include <limits>
#include <uhd/utils/log.hpp>

#include "sample/floor_divide.h"
#include "types/grid.h"

namespace wip::vusrp {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using fpga::transmit_event_kind;

constexpr exact_rate medium_rate{7'680'000};
constexpr int sequence_numbers = 4096;
// Lockstep: the arrival of a packet that is in time, earlier than any delay in the logic.
constexpr tick before_time = fpga::long_ago / 16;
// Ticks of the medium until an ideal radio's burst without a time begins: 3.3 ms.
constexpr tick untimed_lead = 25600;
constexpr tick report_slack = 8;  // ticks; lockstep: reports do not wait for the next quantum
constexpr auto look_again = 1ms;
constexpr auto longest_wait = 100ms;
constexpr tick report_ticks = 0;  // the host acknowledges a report at once

}  // namespace

transmit_core::transmit_core(std::shared_ptr<node_port> port, const radio_model& model,
                             fpga::error_policy policy, bool hold)
    : port_(std::move(port)),
      lockstep_(port_->lockstep()),
      ideal_(model.ideal_control()),
      hold_(hold),
      master_(model.master()),
      rate_(model.rate(side::transmit)),
      to_medium_(medium_rate, master_),
      latency_(model.latency()),
      spread_(model.spread()),
      store_(model.transmit_store()),
      random_(model.seed() + 2),
      control_(model.control().transmit, rate_.divider, policy, report_ticks),
      writer_(*port_, model),
      arrived_(std::numeric_limits<tick>::min() / 2) {
    port_->block().transmit_latency.store(0);
    port_->block().judges.store(1);
    // The store is at most half of the medium's FIFO.
    const double most = static_cast<double>(air::transmit_fifo_size / 2) * rate_.hz() /
                        static_cast<double>(air::sample_rate);
    store_ = std::min(store_, static_cast<std::int64_t>(most));
}

transmit_core::~transmit_core() {
    if (!writer_.close()) writer_.abandon();
}

// Every sample is in the store until its own time, not until the end of its packet. Otherwise, in
// lockstep, the clock could wait for samples after the next slot while wait_room() waits for the
// clock.
std::int64_t transmit_core::unplayed(const stored& s, tick now) const {
    return std::clamp<std::int64_t>((s.until - now + rate_.divider - 1) / rate_.divider, 0,
                                    s.samples);
}

std::int64_t transmit_core::stored_at(tick now) {
    while (!store_ends_.empty() && store_ends_.front().until <= now) store_ends_.pop_front();
    std::int64_t all = 0;
    for (const stored& s : store_ends_) all += unplayed(s, now);
    return all;
}

bool transmit_core::wait_room(std::size_t samples, clock::time_point deadline) {
    for (;;) {
        tick until = 0;  // time of the medium
        {
            const std::lock_guard lock(mutex_);
            const tick now = master_at(port_->now());
            const std::int64_t inside = stored_at(now);
            std::int64_t excess = inside + static_cast<std::int64_t>(samples) - store_;
            if (inside == 0 || excess <= 0) return true;
            for (const stored& s : store_ends_) {
                const std::int64_t here = unplayed(s, now), out = std::min(here, excess);
                until = s.until - (here - out) * rate_.divider;
                excess -= out;
                if (excess == 0) break;
            }
            until = to_medium_.of(until).whole + 1;
        }
        port_->check();
        const auto left = deadline - clock::now();
        if (left <= 0ns) return false;
        if (lockstep_)
            port_->block().room.wait([&] { return port_->now() >= until; },
                                     std::min<std::chrono::nanoseconds>(left, 100ms));
        else
            port_->wait_until(until, std::chrono::duration<double>(left).count());
    }
}

tick transmit_core::arrival(const std::optional<tick>& time) {
    const tick now = port_->now();
    if (lockstep_) {
        const tick here = master_at(now + latency_);
        return control_.is_open() || (time && *time >= here) ? before_time : here;
    }
    const tick late = latency_ + std::uniform_int_distribution<tick>(0, spread_)(random_);
    const bool leads = ideal_ && !time && !control_.is_open();
    return master_at(now + late + (leads ? untimed_lead : 0));
}

void transmit_core::packet(std::optional<tick> time, std::span<const air::cf32> samples,
                           bool end_of_burst) {
    const std::lock_guard lock(mutex_);
    advance();
    if (ideal_ && time) {  // rounded to the nearest sample
        const tick half = rate_.divider / 2;
        *time = sample_model::floor_divide(*time + half, rate_.divider) * rate_.divider;
    }
    const tick at = arrival(time);
    arrived_ = lockstep_ ? at : std::max(arrived_, at);
    packets_.push_back({number_, sent_, time});
    control_.packet({.arrival = arrived_,
                     .time = time,
                     .samples = static_cast<int>(samples.size()),
                     .end_of_burst = end_of_burst,
                     .sequence = static_cast<int>(number_ % sequence_numbers)});
    ++number_;
    sent_ += static_cast<std::int64_t>(samples.size());
    play(samples);
    const tick until = control_.is_open() ? control_.due() : std::max(next_, arrived_);
    store_ends_.push_back({until, static_cast<std::int64_t>(samples.size())});
}

void transmit_core::announce(std::optional<tick> time) {
    const std::lock_guard lock(mutex_);
    const bool holds = lockstep_ && time;  // the clock waits for the samples
    if ((port_->running() && !holds) || writer_.is_open()) return;
    if (!writer_.open(time.value_or(0), hold_)) return;
    next_ = time.value_or(0);
    if (!holds) close_burst();
}

void transmit_core::advance() {
    if (!lockstep_) {
        control_.advance(master_at(port_->now() + latency_));
        play({});
    }
}

// Carries out the control's decisions: its runs are written to the medium, its reports queued.
// Samples of this packet are read from the caller's memory; samples that wait in the DUC are
// copied.
void transmit_core::play(std::span<const air::cf32> samples) {
    current_ = samples;
    const fpga::transmit_outcome o = control_.take();
    for (const fpga::transmit_event& e : o.events) add_report(e);
    const auto position = [this](std::int64_t packet, int first) {
        const auto same = [packet](const held_packet& p) { return p.number == packet; };
        return std::find_if(packets_.begin(), packets_.end(), same)->position + first;
    };
    for (const fpga::air_run& r : o.air) check_time(r);
    std::int64_t done_until = played_;
    for (std::size_t i = 0; i < o.air.size();) {
        const fpga::air_run& first = o.air[i];
        const std::int64_t at = position(first.packet, first.first);
        tick n = first.samples;
        // Joins runs without a gap between them, such as the pieces of a DUC.
        for (++i; i < o.air.size() && o.air[i].start == first.start + n * rate_.divider &&
                  position(o.air[i].packet, o.air[i].first) == at + n;
             ++i)
            n += o.air[i].samples;
        write(first.start, at, static_cast<std::size_t>(n));
        done_until = std::max(done_until, at + n);
    }
    for (const fpga::dropped_run& d : o.dropped)
        done_until = std::max(done_until, position(d.packet, d.first) + d.samples);
    if (!control_.is_open()) {
        close_burst();
    } else if (lockstep_ && done_until < sent_) {
        // The samples in the DUC are written as well, since the clock waits for them; they follow
        // for certain, as nothing runs dry in lockstep.
        write(next_, std::max(done_until, written_until_),
              static_cast<std::size_t>(sent_ - std::max(done_until, written_until_)));
    }
    // The rest of this packet is kept after the rests of earlier ones.
    const std::int64_t begins = sent_ - static_cast<std::int64_t>(samples.size());
    const std::int64_t old = std::min(done_until, begins) - played_;
    held_.erase(held_.begin(), held_.begin() + std::min<std::ptrdiff_t>(old, std::ssize(held_)));
    played_ = done_until;
    if (done_until < sent_) {
        const auto left = static_cast<std::size_t>(sent_ - std::max(done_until, begins));
        const auto rest = samples.last(left);
        held_.insert(held_.end(), rest.begin(), rest.end());
    }
    while (packets_.size() > 1 && packets_[1].position <= played_) packets_.pop_front();
    if (played_ == sent_) packets_.clear();
    current_ = {};
}

// Counts a packet that is on the air at another time than its own; a difference of one sample is
// rounding.
void transmit_core::check_time(const fpga::air_run& run) {
    if (run.first != 0) return;
    const auto same = [&run](const held_packet& p) { return p.number == run.packet; };
    const std::optional<tick> commanded_time =
        std::find_if(packets_.begin(), packets_.end(), same)->commanded_time;
    if (!commanded_time || std::abs(run.start - *commanded_time) <= rate_.divider) return;
    auto& block = port_->block();
    if (block.displaced.load() == 0)
        block.displaced_by.store(to_medium_.of(run.start - *commanded_time).whole);
    block.displaced.fetch_add(1, std::memory_order_release);
}

void transmit_core::write(tick start, std::int64_t position, std::size_t samples) {
    if (position < written_until_) {  // written already
        const auto done = static_cast<std::size_t>(written_until_ - position);
        if (done >= samples) return;
        position += static_cast<std::int64_t>(done);
        samples -= done;
        start += static_cast<tick>(done) * rate_.divider;
    }
    if (writer_.is_open() && start != next_) close_burst();
    while (!writer_.is_open() && !writer_.open(start, hold_)) {
        port_->check();
        const auto& bursts = port_->block().bursts;
        const std::uint64_t taken = bursts.taken.load();
        port_->block().room.wait([&] { return bursts.taken.load() != taken; }, 100ms);
    }
    next_ = start + static_cast<tick>(samples) * rate_.divider;
    const std::int64_t begins = sent_ - std::ssize(current_);
    while (samples > 0 || writer_.pending()) {
        // The samples that waited in the DUC come first, then those of the caller.
        const bool waited = position < begins;
        const std::int64_t at = position - (waited ? played_ : begins);
        const std::span<const air::cf32> all =
            waited ? std::span<const air::cf32>(held_) : current_;
        const auto from = all.subspan(static_cast<std::size_t>(std::min(at, std::ssize(all))));
        const std::size_t n = writer_.write(from.first(std::min(samples, from.size())));
        position += static_cast<std::int64_t>(n);
        samples -= n;
        written_until_ = std::max(written_until_, position);
        if (n > 0) continue;
        if (!writer_.is_open()) return;  // the medium has refused the burst
        port_->check();
        writer_.wait_room(100ms);
    }
}

void transmit_core::close_burst() {
    while (!writer_.close()) {
        if (!port_->connected()) return writer_.abandon();
        writer_.wait_room(100ms);
    }
}

void transmit_core::add_report(const fpga::transmit_event& e) {
    reports_.push_back(e);
    reported_.notify_all();
    switch (e.kind) {
        case transmit_event_kind::acknowledged:
            return;
        case transmit_event_kind::underflow:
            count_slot(e.time, dry_slot_, port_->block().judged_dry);
            UHD_LOG_FASTPATH("U")
            return;
        case transmit_event_kind::late:
            count_slot(e.time, late_slot_, port_->block().judged_late);
            UHD_LOG_FASTPATH("L")
            return;
        default:
            UHD_LOG_FASTPATH("S")
    }
}

// Counts slots, not reports, since a DUC reports a late packet once for each part into which it
// cuts it.
void transmit_core::count_slot(tick time, tick& last, std::atomic<std::uint64_t>& counter) {
    const tick slot = sample_model::floor_divide(to_medium_.of(time).whole, wip::slot_samples);
    if (slot == last) return;
    last = slot;
    counter.fetch_add(1, std::memory_order_relaxed);
}

std::optional<fpga::transmit_event> transmit_core::due_report() {
    if (reports_.empty()) return {};
    const fpga::transmit_event e = reports_.front();
    const tick came = master_at(port_->now() - (lockstep_ ? 0 : latency_));
    if (e.time > came + (lockstep_ ? report_slack : 0)) return {};
    reports_.pop_front();
    return e;
}

std::optional<fpga::transmit_event> transmit_core::take_report() {
    const std::lock_guard lock(mutex_);
    advance();
    return due_report();
}

void transmit_core::wait_report(std::chrono::nanoseconds timeout) {
    using seconds = std::chrono::duration<double>;
    if (lockstep_) {
        auto& block = port_->block();
        const std::uint64_t happened = block.events.written.load();
        block.happened.wait([&] { return block.events.written.load() != happened; },
                            std::min<std::chrono::nanoseconds>(timeout, look_again));
        return;
    }
    std::unique_lock lock(mutex_);
    // No report can come before the next known event, or before the open burst has run out of
    // samples.
    seconds left = longest_wait;
    const auto wait_for = [&](tick master) {
        const tick ticks = to_medium_.of(master).whole + latency_ - port_->now();
        left = std::min(left, seconds(static_cast<double>(ticks) / air::sample_rate));
    };
    if (!reports_.empty()) wait_for(reports_.front().time);
    if (control_.is_open()) wait_for(control_.due());
    left = std::clamp(left, seconds(look_again) / 10, seconds(longest_wait));
    reported_.wait_for(lock, std::min(left, seconds(timeout)));
}

}  // namespace wip::vusrp
