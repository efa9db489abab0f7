// SPDX-License-Identifier: GPL-3.0-or-later
// A transmitter's control logic in the FPGA of a USRP, as a function from packets to what is on the
// air, what is dropped and what is reported. It has no thread, no clock and no samples: a packet
// comes with the tick of its arrival, and all that follows from it up to then is worked out.
//
// Three states. *Idle*: the packet at the head is judged by its time: it waits for it, goes at once
// if it has none, or is late and dropped. *Open* (from the first sample of a burst on): packets go
// out one behind the other and their times are not looked at; the end of burst ends it, and so does
// the first sample that is not there. *Discarding*: packets are dropped, up to a packet's or up to
// a burst's end.
//
// A DUC in front (converter.h) turns a packet into several with times of its own.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "vusrp/fpga/converter.h"
#include "vusrp/fpga/family.h"

namespace wip::vusrp::fpga {

enum class transmit_event_kind { acknowledged, underflow, late, sequence, sequence_in_burst };

struct transmit_event {
    transmit_event_kind kind;
    tick time;
};

struct air_run {
    tick start;  // of its first sample
    std::int64_t packet;
    int first, samples;
};

struct dropped_run {
    std::int64_t packet;
    int first, samples;
};

struct transmit_outcome {
    std::vector<air_run> air;
    std::vector<dropped_run> dropped;
    std::vector<transmit_event> events;
};

enum class error_policy { next_packet, next_burst };

class transmit_control {
public:
    // A report of an RFNoC radio occupies the way to the host for report_ticks.
    transmit_control(const transmit_rules& rules, tick ticks_per_sample, error_policy policy,
                     tick report_ticks);

    // Packets come in the order in which they arrive.
    void packet(const transmit_packet& p);
    // No packet arrives up to this tick that has not been given: an open burst may be dry.
    void advance(tick now);
    transmit_outcome take();
    // A burst is open, and its next sample is due on the air then.
    bool is_open() const noexcept { return state_ == state::open; }
    tick due() const noexcept { return due_; }

private:
    enum class state { idle, open, discarding };

    void take_unit(const unit& u);
    void judge(const unit& u);
    void send(const unit& u);
    void drop(const unit& u, tick from, int word, int dropped);
    void run_dry();
    void close(tick free);
    void report(transmit_event_kind kind, tick found);
    void on_air(const unit& u, int first, int count, tick start);
    template <class F>
    void trace(const unit& u, int first, int count, F&& each) const;

    transmit_rules rules_;
    tick step_;      // ticks a sample of a unit
    tick pipeline_;  // between a sample's tick on the air and the tick in which it is taken
    error_policy policy_;
    tick report_ticks_;
    std::optional<converter> converter_;
    deframer deframer_;
    state state_ = state::idle;
    tick free_ = long_ago;      // idle: of the next decision; discarding: of the next word
    tick due_ = 0;              // open: of the next sample on the air
    tick lost_at_ = -1;         // a packet that arrives in this tick is lost [5]
    bool until_burst_ = false;  // discarding
    int expected_sequence_ = 0;
    std::int64_t packets_ = 0;
    tick last_event_ = 0;           // its time
    std::deque<tick> report_ends_;  // of the reports that are kept
    transmit_outcome outcome_;
};

}  // namespace wip::vusrp::fpga
