// SPDX-License-Identifier: GPL-3.0-or-later
// A transmitter's control logic in the FPGA of a USRP: its input are packets, its outputs the
// samples on the air, dropped samples and reports. It has no thread, no clock and no samples: a
// packet comes with the tick of its arrival, and everything that happens up to that tick is then
// computed.
//
// Three states. *Idle*: the time of the packet at the head decides: the packet waits for it, is
// sent at once if it has none, or is late and dropped. *Open* (from the first sample of a burst
// on): packets are sent one after the other, and their times are not read; the end of burst ends
// it, and so does a sample that is not there in time. *Discarding*: packets are dropped, up to the
// end of a packet or of a burst.
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
    tick start;  // time of its first sample
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
    // A report of an RFNoC radio occupies the connection to the host for report_ticks.
    transmit_control(const transmit_rules& rules, tick ticks_per_sample, error_policy policy,
                     tick report_ticks);

    // Packets come in the order in which they arrive.
    void packet(const transmit_packet& p);
    // All packets that arrive up to this tick have been given to packet(), so an open burst may
    // have run dry.
    void advance(tick now);
    transmit_outcome take();
    // Whether a burst is open, and the tick at which its next sample is due on the air.
    bool is_open() const noexcept { return state_ == state::open; }
    tick due() const noexcept { return due_; }

private:
    enum class state { idle, open, discarding };

    void take_unit(const unit& u);
    void decide(const unit& u);
    void send(const unit& u);
    void drop(const unit& u, tick from, int word, int dropped);
    void run_dry();
    void close(tick free);
    void report(transmit_event_kind kind, tick found);
    void on_air(const unit& u, int first, int count, tick start);
    template <class F>
    void for_each_sample_run(const unit& u, int first, int count, F&& each) const;

    transmit_rules rules_;
    tick ticks_per_word_;  // ticks per sample of a unit
    tick pipeline_;        // between a sample's tick on the air and the tick in which it is taken
    error_policy policy_;
    tick report_ticks_;
    std::optional<converter> converter_;
    deframer deframer_;
    state state_ = state::idle;
    tick free_ = long_ago;  // idle: tick of the next decision; discarding: tick of the next word
    tick due_ = 0;          // open: tick of the next sample on the air
    tick lost_at_ = -1;     // a packet that arrives in this tick is lost [5]
    bool until_burst_ = false;  // discarding: until the end of the burst, not of the packet
    int expected_sequence_ = 0;
    std::int64_t packets_ = 0;
    tick last_event_ = 0;           // time in the last report
    std::deque<tick> report_ends_;  // when the host has acknowledged each stored report
    transmit_outcome outcome_;
};

}  // namespace wip::vusrp::fpga
