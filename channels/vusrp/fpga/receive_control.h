// SPDX-License-Identifier: GPL-3.0-or-later
// A receiver's control logic in the FPGA of a USRP, as a function from stream commands and a sink
// that may refuse to packets and reports. It has no thread, no clock and no samples: a packet is
// the tick of its first sample and a count.
//
// Every tick is worked out where something begins, ends or is full. Between, what happens in the
// ticks of one word of the store is what happened in those of the word before, with counters that
// have gone on by as much; so many words as no counter comes near a limit are counted at once.
//
// Commands stand in a queue; the one at the head waits for its time, or is refused if that has
// passed. While the receiver runs, samples go through a store to the sink; when the store is full,
// the packet ends, the overflow is reported and the receiver stands until a new start comes, on any
// tick. In an RFNoC radio a stop empties the queue and acts at once; in a B200 it waits in the
// queue like any command, and one that comes while the receiver runs takes over.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "vusrp/fpga/family.h"

namespace wip::vusrp::fpga {

enum class command_kind { start, stop, finite, chained };

struct receive_command {
    tick written;  // to the register
    command_kind kind;
    std::optional<tick> time{};  // none: now
    std::int64_t samples = 0;    // of a finite or chained one
};

struct received_packet {
    tick time;  // of its first sample
    int samples;
    bool end_of_burst;
};

enum class receive_event_kind { late, overflow, broken_chain };

struct receive_event {
    receive_event_kind kind;
    tick time;
    int after_packets;  // so many have been delivered before it; -1: it goes another way
};

struct receive_outcome {
    std::vector<received_packet> packets;
    std::vector<receive_event> events;
};

// The sink takes nothing in [from, to).
struct refusal {
    tick from, to;
};

struct receive_setting {
    tick ticks_per_sample = 1;
    tick report_ticks = 0;  // the host takes so long to acknowledge a report
    int samples_per_packet = 0;
    int store_samples = 0;
    tick begin = 0;           // the first tick
    bool counts_runs = true;  // off: each tick by itself, for a test that they are the same
};

class receive_control {
public:
    receive_control(const receive_rules& rules, const receive_setting& setting);

    // Commands come in the order of the register writes, refusals in that of their ticks, and both
    // before advance() gets there.
    void command(const receive_command& c) { written_.push_back(c); }
    void refuse(const refusal& r) { refusals_.push_back(r); }
    void advance(tick end);
    receive_outcome take();

    tick now() const noexcept { return now_; }
    // Whether no command runs or waits to begin.
    bool is_idle() const noexcept {
        return state_ == state::idle && queue_.empty() && written_.empty();
    }
    bool is_running() const noexcept { return state_ == state::running; }
    // The tick at which the packet that is being received began, and the one at which it will be
    // full; while running only.
    tick packet_start() const noexcept {
        return next_sample_ - packet_.samples * setting_.ticks_per_sample;
    }
    tick packet_end() const noexcept {
        return next_sample_ +
               (setting_.samples_per_packet - packet_.samples - 1) * setting_.ticks_per_sample;
    }
    // Samples that have been received and have not left for the sink, and those of the packet in
    // the making.
    std::int64_t stored() const noexcept {
        return (in_ - out_ + output_in_ - sunk_) * rules_.word_samples;
    }
    std::int64_t unfinished() const noexcept { return packet_.samples; }

private:
    enum class state { idle, running };

    // The counters that advance with every word.
    struct counters {
        tick at = -1;
        std::int64_t in, out, output_in, sunk;
        std::array<std::int64_t, 4> lead_in, lead_out;
        std::int64_t refusals_over;
        bool refused;
        std::size_t cuts, ends, reports;
        bool framing;
        int header_left, delivered;
    };
    counters count() const;
    // How many words from here on are as the last one was, up to this tick.
    std::int64_t words_alike(const counters& before, const counters& now, tick end) const;
    void leap(tick end);
    void step(tick t);
    tick next_event() const;
    bool is_busy() const;
    bool acts_at_once(const receive_command& c) const;
    tick arrival(const receive_command& c) const;
    void arrive(tick t);
    void stop(tick t);
    void look(tick t);
    void start(const receive_command& c, tick t);
    void sample(tick t);
    bool command_ends();
    void stand(tick free);
    void report(receive_event_kind kind, tick found);
    bool full() const;
    bool is_header_store_full() const;
    void store(bool last);
    void end_packet(bool end_of_burst);
    void frame(tick t);
    bool is_refused(tick t) const;
    std::int64_t capacity() const { return setting_.store_samples / rules_.word_samples; }

    const receive_rules rules_;
    const receive_setting setting_;
    state state_ = state::idle;
    tick now_ = 0;
    tick free_ = 0;  // idle: of the next decision
    tick next_sample_ = 0;
    tick grid_ = 0;  // a sample's tick
    std::deque<receive_command> written_, queue_;
    std::deque<refusal> refusals_;
    std::optional<receive_command> current_{};
    bool stopping_ = false;     // with the next sample
    bool is_broken_ = false;    // a chain had no next command
    received_packet packet_{};  // in the making
    int word_ = 0;              // samples of the store's next word
    // Words that went into the store and out of it, and what these were some ticks ago.
    std::int64_t in_ = 0, out_ = 0;
    std::array<std::int64_t, 4> in_before_{}, out_before_{};
    // A B200's framer.
    std::deque<std::int64_t> cuts_;  // the last words of packets in the store
    bool framing_ = false;
    int header_left_ = 0;
    std::int64_t output_in_ = 0, sunk_ = 0;
    std::deque<std::int64_t> output_ends_;
    std::int64_t refusals_over_ = 0;
    counters counted_{};                 // at the last word's end
    int delivered_ = 0;                  // packets
    std::deque<receive_event> reports_;  // wait behind the data
    receive_outcome outcome_;
};

}  // namespace wip::vusrp::fpga
