// SPDX-License-Identifier: GPL-3.0-or-later
// Samples on their way from the medium to a node: windows of time in which the medium fills a ring
// (layout.h). A window ends at its commanded end, when it is stopped, or when the node does not
// read in time (realtime only: the samples that are already in the ring stay valid, then comes a
// gap, as in a USRP).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <span>

#include "air/layout.h"

namespace wip::air {

// Node side.
class receive_reader {
public:
    receive_reader(air_header& header, node_block& node, const cf32* ring)
        : header_(header),
          node_(node),
          ring_(ring),
          taken_(node.windows.taken.load(std::memory_order_relaxed)) {}

    struct state {
        enum kind { nothing, samples, late, overflow, ended } what = nothing;
        tick position = 0;   // tick of the next sample (kind samples), or of the event
        tick available = 0;  // released samples from `position` on, at most a ring
        tick start = 0;      // begin of the window
        tick end = never;    // end of the window; never: not known yet
        bool cut = false;    // the window ends in an overflow
    };
    // The present state of the stream. late, overflow and ended are reported once and consume the
    // window.
    state look() noexcept;
    // Waits until `n` samples are available (or the window ends, or another begins).
    bool wait(tick n, std::chrono::nanoseconds timeout);
    // Copies and consumes; n must be available.
    void take(std::span<cf32> out) noexcept;
    void skip(tick n) noexcept;  // consumes without copying

private:
    window* current() noexcept;
    bool has_window() const noexcept;
    air_header& header_;
    node_block& node_;
    const cf32* ring_;
    std::uint64_t taken_;  // windows
    window* window_ = nullptr;
    tick start_ = 0;  // begin of that window
    tick position_ = 0;
};

// Medium side.
class receive_writer {
public:
    receive_writer(node_block& node, cf32* ring)
        : node_(node), ring_(ring), written_(node.windows.written.load()) {}

    // Commands. `now` is the first time that is not yet released.
    void start(tick time, std::int64_t count, tick now) noexcept;
    void stop(tick time, tick now) noexcept;

    bool ever_started() const noexcept { return started_ > 0; }
    bool active() const noexcept { return !windows_.empty(); }
    // Returns the first part of [from, to) that lies in a window; {to, to}: none does.
    struct stretch {
        tick from, to;
    };
    stretch wanted(tick from, tick to) const noexcept;
    // Whether the ring has room for all samples of windows before `to`.
    bool has_room(tick to) const noexcept;
    void write(tick at, std::span<const cf32> samples) noexcept;
    // Realtime, when the ring has no room: ends the window at `from`. released() opens the next one
    // when less than half of the ring is unread.
    void overflow(tick from) noexcept;
    // The samples [from, to) are lost on their way: ends the window at `from` in an overflow and
    // opens the next at `to`. Further calls for the same samples have no effect. They must belong
    // to the last window.
    void gap(tick from, tick to) noexcept;
    // Samples before `now` are released: retire windows, reopen after an overflow, wake the node.
    void released(tick now) noexcept;
    void wake_if_wanted(tick now) noexcept;
    void reset() noexcept;

private:
    struct local_window {
        window* shared;
        tick start;
        tick end;
    };
    bool push(tick start, tick end, std::uint32_t flags) noexcept;
    void announce() noexcept;
    tick read_up_to() const noexcept;

    node_block& node_;
    cf32* ring_;
    std::uint64_t written_;  // windows
    std::deque<local_window> windows_;
    std::uint64_t started_ = 0;
    bool cut_by_overflow_ = false;  // between an overflow and the next window
    tick commanded_end_ = never;    // end of the window that the overflow has cut
};

}  // namespace wip::air
