// SPDX-License-Identifier: GPL-3.0-or-later
// A receiver's control logic in the FPGA of a USRP: its inputs are stream commands and the times at
// which the sink refuses samples, its outputs are packets and reports. It has no thread, no clock
// and no samples: a packet is the tick of its first sample and a count.
//
// Where something begins, ends or is full, every tick is computed. In between, the ticks of one
// word of the store repeat those of the word before, and every counter advances by the same number;
// as many words as keep all counters away from their limits are then skipped at once.
//
// Commands wait in a queue; the one at the head waits for its time, or is refused if that has
// passed. While the receiver runs, samples go through a store to the sink; when the store is full,
// the packet ends, the overflow is reported and the receiver is idle until a new start, which may
// be in any tick. In an RFNoC radio a stop empties the queue and acts at once; in a B200 it waits
// in the queue like any command, and a start that comes while the receiver runs replaces the
// running command.
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
    std::int64_t samples = 0;    // length of a finite or chained command
};

struct received_packet {
    tick time;  // time of its first sample
    int samples;
    bool end_of_burst;
};

enum class receive_event_kind { late, overflow, broken_chain };

struct receive_event {
    receive_event_kind kind;
    tick time;
    int after_packets;  // number of packets delivered before it; -1: it does not go through the
                        // stream
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
    tick report_ticks = 0;  // ticks that the host takes to acknowledge a report
    int samples_per_packet = 0;
    int store_samples = 0;
    tick begin = 0;           // the first tick
    bool counts_runs = true;  // skip words that repeat each other; false: compute every tick, for a
                              // test that both are equal
};

class receive_control {
public:
    receive_control(const receive_rules& rules, const receive_setting& setting);

    // Commands are given in the order of the register writes, refusals in that of their ticks, both
    // before advance() passes their ticks.
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
    // The tick at which the present packet began, and the one at which it will be full; valid only
    // while running.
    tick packet_start() const noexcept {
        return next_sample_ - packet_.samples * setting_.ticks_per_sample;
    }
    tick packet_end() const noexcept {
        return next_sample_ +
               (setting_.samples_per_packet - packet_.samples - 1) * setting_.ticks_per_sample;
    }
    // Samples that have been received but not passed to the sink, and those of the unfinished
    // packet.
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
    // The number of words before this tick that will repeat the last one.
    std::int64_t words_to_skip(const counters& before, const counters& now, tick end) const;
    void skip_words(tick end);
    void step(tick t);
    tick next_event() const;
    bool is_busy() const;
    bool acts_at_once(const receive_command& c) const;
    tick arrival(const receive_command& c) const;
    void arrive(tick t);
    void stop(tick t);
    void examine_head(tick t);
    void start(const receive_command& c, tick t);
    void sample(tick t);
    bool command_ends();
    void become_idle(tick free);
    void report(receive_event_kind kind, tick found);
    bool is_store_full() const;
    bool is_header_store_full() const;
    void store(bool last);
    void end_packet(bool end_of_burst);
    void run_framer(tick t);
    bool is_refused(tick t) const;
    std::int64_t capacity() const { return setting_.store_samples / rules_.word_samples; }

    const receive_rules rules_;
    const receive_setting setting_;
    state state_ = state::idle;
    tick now_ = 0;
    tick free_ = 0;  // idle: tick of the next decision
    tick next_sample_ = 0;
    tick grid_ = 0;  // the tick of some sample of the grid
    std::deque<receive_command> written_, queue_;
    std::deque<refusal> refusals_;
    std::optional<receive_command> current_{};
    bool stopping_ = false;     // the receiver stops with the next sample
    bool is_broken_ = false;    // a chained command had no successor in time
    received_packet packet_{};  // unfinished
    int word_ = 0;              // samples that the store's next word has so far
    // Words that went into the store and out of it, and these counts 1 to 4 ticks ago.
    std::int64_t in_ = 0, out_ = 0;
    std::array<std::int64_t, 4> in_before_{}, out_before_{};
    // A B200's framer.
    std::deque<std::int64_t> cuts_;  // the last words of packets in the store
    bool framing_ = false;
    int header_left_ = 0;
    std::int64_t output_in_ = 0, sunk_ = 0;
    std::deque<std::int64_t> output_ends_;
    std::int64_t refusals_over_ = 0;
    counters last_word_counters_{};      // counters at the end of the last word
    int delivered_ = 0;                  // packets
    std::deque<receive_event> reports_;  // they wait until the data before them have left
    receive_outcome outcome_;
};

}  // namespace wip::vusrp::fpga
