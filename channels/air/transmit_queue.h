// SPDX-License-Identifier: GPL-3.0-or-later
// Samples on their way from a node to the medium: bursts with a time, samples in a FIFO (layout.h).
//
// Writer (node): open a burst, copy samples into room, publish them, close. Publishing fails when
// the medium has refused the burst meanwhile (late or starved); the samples then are not on the
// air.
// Reader (medium): collects new bursts, sets the time of those that have none, refuses those that
// came after their time, tells up to which time all samples are known (lockstep waits for that),
// copies the samples of any stretch of time that is not freed yet, and frees them.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "air/layout.h"
#include "mix/sample_source.h"

namespace wip::air {

class transmit_writer {
public:
    transmit_writer(air_header& header, node_block& node, cf32* fifo)
        : header_(header),
          node_(node),
          fifo_(fifo),
          opened_(node.bursts.written.load(std::memory_order_acquire)),
          position_(node.fifo_written.load(std::memory_order_acquire)) {}

    bool is_open() const noexcept { return current_ != nullptr; }
    // The tick after the last published sample; valid only if the burst was opened with a time.
    tick end_time() const noexcept { return end_time_; }
    // false: the table of bursts is full. `hold`: the clock waits for this node also between its
    // bursts.
    bool open(tick time, tick now, bool hold) noexcept;
    std::uint64_t room() const noexcept;
    bool wait_room(std::chrono::nanoseconds timeout);
    // Longest contiguous stretch of the FIFO, at most n samples.
    std::span<cf32> claim(std::uint64_t n) noexcept;
    enum class outcome { published, starved, late };
    outcome publish(std::uint64_t n) noexcept;
    void close() noexcept;

private:
    air_header& header_;
    node_block& node_;
    cf32* fifo_;
    burst* current_ = nullptr;
    std::uint64_t opened_;  // bursts
    std::uint64_t position_;
    tick end_time_ = 0;
};

class transmit_reader final : public mix::sample_source {
public:
    transmit_reader(node_block& node, const cf32* fifo) : node_(node), fifo_(fifo) {}

    struct news {
        tick earliest = never;  // first time at which something known before has changed
        int opened = 0;
        int late = 0;
        int malformed = 0;  // part of `late`: bursts with a time that no radio has
    };
    // `now`: first tick that is not released yet. `asap_time`: start of bursts without a time.
    news collect(tick now, tick asap_time) noexcept;
    bool has_news() const noexcept { return is_ready(collected()); }
    // The node's counters are impossible: more bursts than its table holds, or samples that are not
    // in its FIFO. Nothing of the node is used until reset().
    bool is_damaged() const noexcept { return damaged_; }
    // All samples before this tick are known; `never` when no burst is open.
    tick known_until() const noexcept;
    // Asks the node to wake the medium when the open burst reaches `time`.
    void want(tick time) noexcept;
    bool ever_opened() const noexcept { return opened_ > 0; }
    bool active() const noexcept override { return !bursts_.empty(); }
    bool read(tick from, std::span<cf32> out) const noexcept override;
    // Realtime: cuts the open burst off at its end if it has no sample for `time`, which is due.
    // Returns whether it did.
    bool starve(tick time) noexcept;
    // Burst ends up to `time` are acknowledged.
    void acknowledge(tick time) noexcept;
    // Samples before `time` are not read again.
    void free_before(tick time) noexcept;
    // Forgets the node's bursts when it detaches.
    void reset() noexcept;

private:
    struct local_burst {
        burst* shared;
        tick start;
        std::uint64_t first;
        bool acknowledged;
    };
    struct extent {
        std::uint64_t end;
        bool closed;  // by either side
        bool late;
        bool refused;
    };
    extent look(const local_burst& b) const noexcept;
    tick end_time(const local_burst& b, const extent& e) const noexcept {
        return b.start + static_cast<tick>(e.end - b.first);
    }
    void free_to(std::uint64_t position) noexcept;
    std::uint64_t collected() const noexcept { return taken_ + bursts_.size(); }
    // Whether burst number `at` can be collected. A burst without a time begins with its first
    // sample, so it is not collected before that has been written: a node that is interrupted
    // between opening and writing does not count as starved.
    bool is_ready(std::uint64_t at) const noexcept;

    node_block& node_;
    const cf32* fifo_;
    std::deque<local_burst> bursts_;
    std::uint64_t taken_ = 0;  // bursts
    std::uint64_t freed_ = 0;  // samples of the FIFO
    mutable bool damaged_ = false;
    std::uint64_t opened_ = 0;
    tick busy_until_ = 0;  // tick after the last burst on the air
    bool hold_ = false;    // the clock waits for this node also between bursts
};

// Appends to the node's events; the oldest one is overwritten.
void post_event(node_block& node, event_kind kind, tick time) noexcept;
// Returns event number `next` and advances `next` past it; nullopt when there is no such event yet.
// Events that have been overwritten are passed over, also those that are overwritten during the
// call: an event is returned only as it was posted. Any number of readers, each with its own
// `next`, beside one writer.
std::optional<event> read_event(node_block& node, std::uint64_t& next) noexcept;

}  // namespace wip::air
