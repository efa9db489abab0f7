// SPDX-License-Identifier: GPL-3.0-or-later
#include "vusrp/fpga/transmit_control.h"

#include <utility>

namespace wip::vusrp::fpga {
namespace {

constexpr int sequence_numbers = 4096;

// Ticks that an RFNoC report takes in addition to the host's acknowledgement.
constexpr tick report_overhead = 3;

}  // namespace

// The logic and the air count ticks with an offset: a decision in tick t puts its sample on the air
// in the tick that is called t there, and takes it from the input pipeline_ ticks later.
transmit_control::transmit_control(const transmit_rules& rules, tick ticks_per_sample,
                                   error_policy policy, tick report_ticks)
    : rules_(rules),
      ticks_per_word_(rules.has_converter ? 1 : ticks_per_sample),
      pipeline_(ticks_per_word_ + 1),
      policy_(policy),
      report_ticks_(report_ticks),
      deframer_(rules) {
    if (rules.has_converter) converter_.emplace(rules, ticks_per_sample);
}

void transmit_control::packet(const transmit_packet& p) {
    const std::int64_t index = packets_++;
    if (converter_) {
        for (const unit& u : converter_->take(p, index)) take_unit(u);
    } else if (const auto u = deframer_.take(p, index)) {
        take_unit(*u);
    }
}

void transmit_control::advance(tick now) {
    if (state_ == state::open && now > due_ + pipeline_) run_dry();
}

transmit_outcome transmit_control::take() { return std::exchange(outcome_, {}); }

void transmit_control::take_unit(const unit& u) {
    if (state_ == state::open && u.arrival > due_ + pipeline_) run_dry();
    const bool jump = state_ == state::open && u.time && *u.time != due_;
    if (jump && rules_.reads_time_in_burst) close(due_ + rules_.restart_ticks);
    switch (state_) {
        case state::open:
            return send(u);
        case state::discarding:
            return drop(u, free_, 0, 0);
        case state::idle:
            if (u.arrival == lost_at_) return drop(u, u.arrival, 0, 0);
            return decide(u);
    }
}

// Decides about the packet at the head while no burst is open.
void transmit_control::decide(const unit& u) {
    tick start = std::max(free_, u.arrival);
    if (u.time) {
        if (!rules_.head_blocks && *u.time > start) {
            on_air(u, 0, u.words, *u.time);
            return report(transmit_event_kind::acknowledged, *u.time);
        }
        const bool in_time = start <= *u.time && free_ <= *u.time - rules_.head_ticks;
        if (in_time) {
            start = *u.time;
        } else {
            const tick found = std::max(start, *u.time + 1) + rules_.late_ticks - 1;
            report(transmit_event_kind::late, found);
            if (rules_.late_is_dropped) {
                until_burst_ = policy_ == error_policy::next_burst;
                return drop(u, found + 1, 0, 0);
            }
        }
    }
    if (rules_.has_sequence && u.sequence != expected_sequence_) {
        report(transmit_event_kind::sequence, start);
        until_burst_ = policy_ == error_policy::next_burst;
        return drop(u, start + 1, 0, 0);
    }
    state_ = state::open;
    due_ = start;
    send(u);
}

// Sends the next packet of an open burst, whose first word is in time.
void transmit_control::send(const unit& u) {
    if (rules_.has_sequence && u.sequence != expected_sequence_ && u.words > 1) {
        on_air(u, 0, 1, due_);
        const tick found = due_ + pipeline_;
        report(transmit_event_kind::sequence_in_burst, found);
        until_burst_ = policy_ == error_policy::next_burst;
        return drop(u, found + 1, 0, 1);
    }
    const tick gap_due = due_ + u.gap_at * ticks_per_word_;
    const bool dry = u.gap_at > 0 && u.available(u.gap_at) > gap_due + pipeline_;
    if (dry) {
        on_air(u, 0, u.gap_at, due_);
        const tick found = gap_due + pipeline_;
        if (rules_.reports_dry) report(transmit_event_kind::underflow, found);
        until_burst_ = policy_ == error_policy::next_burst;
        if (rules_.dry_packet_is_dropped) return drop(u, found + 1, u.gap_at, u.gap_at);
        due_ = u.available(u.gap_at);
        on_air(u, u.gap_at, u.words - u.gap_at, due_);
        due_ += (u.words - u.gap_at) * ticks_per_word_;
    } else {
        on_air(u, 0, u.words, due_);
        due_ += u.words * ticks_per_word_;
    }
    expected_sequence_ = (u.sequence + 1) % sequence_numbers;
    if (!u.end_of_burst || !rules_.end_of_burst_ends) return;
    report(transmit_event_kind::acknowledged, due_ - ticks_per_word_ + pipeline_);
    close(due_ + rules_.restart_ticks);
}

// Removes the words from number `word` on, beginning in tick `from`. The samples from word
// `dropped` on have not been sent and are reported as dropped.
void transmit_control::drop(const unit& u, tick from, int word, int dropped) {
    const int words = u.words - word;
    const tick start = std::max(from, u.available(word));
    const tick last =
        std::max(start + (words + u.per_tick - 1) / u.per_tick - 1, u.available(u.words - 1));
    for_each_sample_run(u, dropped, u.words - dropped,
                        [&](std::int64_t packet, int first, int samples, int) {
                            outcome_.dropped.push_back({packet, first, samples});
                        });
    expected_sequence_ = (u.sequence + 1) % sequence_numbers;
    close(last + 1);
    if (u.end_of_burst && rules_.acknowledges_dropped)
        report(transmit_event_kind::acknowledged, last);
    if (until_burst_ && !u.end_of_burst)
        state_ = state::discarding;
    else
        until_burst_ = false;
}

// Ends an open burst that has no sample to send between two packets.
void transmit_control::run_dry() {
    const tick found = due_ + pipeline_;
    if (rules_.reports_dry) report(transmit_event_kind::underflow, found);
    close(found + 1);
    if (rules_.dry_obeys_policy && policy_ == error_policy::next_burst) {
        until_burst_ = true;
        state_ = state::discarding;
    } else if (rules_.after_dry_between == after_dry::is_dropped) {
        state_ = state::discarding;
    } else if (rules_.after_dry_between == after_dry::lost_at_once) {
        lost_at_ = found + 1;
        free_ = found + 2;
    }
}

void transmit_control::close(tick free) {
    state_ = state::idle;
    free_ = free;
}

void transmit_control::report(transmit_event_kind kind, tick found) {
    if (rules_.report_store > 0) {
        while (!report_ends_.empty() && report_ends_.front() <= found) report_ends_.pop_front();
        if (static_cast<int>(report_ends_.size()) >= rules_.report_store) return;
        const tick begins = report_ends_.empty() ? found + report_overhead : report_ends_.back();
        report_ends_.push_back(begins + report_ticks_ + report_overhead);
    }
    last_event_ =
        std::max(found + rules_.event_delay - pipeline_, last_event_ + rules_.event_spacing);
    outcome_.events.push_back({kind, last_event_});
}

void transmit_control::on_air(const unit& u, int first, int count, tick start) {
    for_each_sample_run(
        u, first, count, [&](std::int64_t packet, int sample, int samples, int word) {
            outcome_.air.push_back(
                {start + (word - first) * ticks_per_word_, packet, sample, samples});
        });
}

// Calls each(packet, first sample, samples, word) for every run of host samples whose first word is
// in [first, first + count).
template <class F>
void transmit_control::for_each_sample_run(const unit& u, int first, int count, F&& each) const {
    const int n = u.sample_words;
    const auto up = [n](int words) { return words <= 0 ? 0 : (words + n - 1) / n; };
    for (const piece& p : u.pieces) {
        const int from = up(first - p.word), to = std::min(p.samples, up(first + count - p.word));
        if (from < to) each(p.packet, p.first + from, to - from, p.word + from * n);
    }
}

}  // namespace wip::vusrp::fpga
