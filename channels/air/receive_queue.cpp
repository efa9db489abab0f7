// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/receive_queue.h"

#include <algorithm>
#include <cstring>

namespace wip::air {

// A count beyond the size of the table is an error of the writer, not a window.
bool receive_reader::has_window() const noexcept {
    const std::uint64_t there = node_.windows.written.load(std::memory_order_acquire) - taken_;
    return there != 0 && there <= node_.windows.size;
}

window* receive_reader::current() noexcept {
    if (window_) return window_;
    if (!has_window()) return nullptr;
    window_ = &node_.windows.at(taken_);
    position_ = start_ = bounded_time(snapshot(window_->start));
    node_.read.store(position_, std::memory_order_seq_cst);
    return window_;
}

receive_reader::state receive_reader::look() noexcept {
    window* w = current();
    if (!w) return {};
    // The fields are read in the reverse of the order in which the medium writes them: when `now`
    // has passed the end of the window, its `end` and `flags` are then seen as well.
    const tick now = bounded_time(node_.now.load(std::memory_order_acquire));
    const tick reported_end = w->end.load(std::memory_order_acquire);
    const tick end = reported_end == never ? never : bounded_time(reported_end);
    const std::uint32_t flags = w->flags.load(std::memory_order_acquire);
    if (!(flags & window_late) && position_ >= 0 && position_ < end)
        return {state::samples,
                position_,
                std::clamp<tick>(std::min(now, end) - position_, 0, receive_ring_size),
                start_,
                end,
                (flags & window_overflow) != 0};
    state s{state::ended, position_, 0, start_, end, false};
    if (flags & window_late) s.what = state::late;
    if (flags & window_overflow) s.what = state::overflow;
    window_ = nullptr;
    node_.windows.taken.store(++taken_, std::memory_order_seq_cst);
    return s;
}

bool receive_reader::wait(tick n, std::chrono::nanoseconds timeout) {
    const auto ready = [&] {
        if (!window_) return has_window();
        const tick end = window_->end.load(std::memory_order_acquire);
        return node_.now.load(std::memory_order_acquire) >= std::min(position_ + n, end);
    };
    if (ready()) return true;
    node_.receive_wanted.store(window_ ? position_ + n : never, std::memory_order_seq_cst);
    return node_.samples.wait(ready, timeout);
}

void receive_reader::take(std::span<cf32> out) noexcept {
    std::size_t done = 0;
    while (done < out.size()) {
        const std::uint64_t index = static_cast<std::uint64_t>(position_) % receive_ring_size;
        const std::size_t n = std::min<std::size_t>(out.size() - done, receive_ring_size - index);
        std::memcpy(out.data() + done, ring_ + index, n * sizeof(cf32));
        position_ += static_cast<tick>(n);
        done += n;
    }
    node_.read.store(position_, std::memory_order_seq_cst);
    header_.work.notify();
}

void receive_reader::skip(tick n) noexcept {
    position_ += n;
    node_.read.store(position_, std::memory_order_seq_cst);
    header_.work.notify();
}

bool receive_writer::push(tick start, tick end, std::uint32_t flags) noexcept {
    auto& table = node_.windows;
    // A node that consumes windows of the table without reading their samples fills windows_.
    if (written_ - table.taken.load(std::memory_order_acquire) >= table.size ||
        windows_.size() >= table.size)
        return false;
    window& w = table.at(written_);
    w.start = start;
    w.end.store(end, std::memory_order_relaxed);
    w.flags.store(flags, std::memory_order_relaxed);
    table.written.store(++written_, std::memory_order_seq_cst);
    if (!(flags & window_late)) windows_.push_back({&w, start, end});
    announce();
    return true;
}

void receive_writer::announce() noexcept { node_.samples.wake(); }

void receive_writer::start(tick time, std::int64_t count, tick now) noexcept {
    tick begin = time == as_soon_as_possible ? now : time;
    ++started_;
    // An open window is closed, even if an overflow has cut it, since it would go on beside the new
    // one.
    const bool open =
        cut_by_overflow_ ? commanded_end_ == never : active() && windows_.back().end == never;
    if (open) stop(begin, now);
    if (time == as_soon_as_possible && !windows_.empty())
        begin = std::max(begin, windows_.back().end);
    const bool late = begin < now || (!windows_.empty() && begin < windows_.back().end);
    push(begin, late ? begin : count > 0 ? begin + count : never, late ? window_late : 0);
}

void receive_writer::stop(tick time, tick now) noexcept {
    const tick end = time == as_soon_as_possible ? now : std::max(time, now);
    cut_by_overflow_ = false;
    // The last window, and the one before it if a gap has cut it: after the end nothing counts as
    // lost.
    for (auto w = windows_.rbegin(); w != windows_.rend() && w->end > end; ++w) {
        w->end = std::max(end, w->start);
        w->shared->flags.fetch_and(~window_overflow, std::memory_order_seq_cst);
        w->shared->end.store(w->end, std::memory_order_seq_cst);
        announce();
        if (w->start <= end) break;
    }
}

void receive_writer::gap(tick from, tick to) noexcept {
    if (windows_.empty()) return;
    local_window& w = windows_.back();
    if (w.start >= from || w.end <= from) return;
    if (to < w.end && !push(to, w.end, 0)) return;
    w.end = from;  // still there: a deque that grows at its end keeps its references
    w.shared->flags.fetch_or(window_overflow, std::memory_order_seq_cst);
    w.shared->end.store(from, std::memory_order_seq_cst);
    node_.overflows.fetch_add(1, std::memory_order_relaxed);
    announce();
}

receive_writer::stretch receive_writer::wanted(tick from, tick to) const noexcept {
    for (const local_window& w : windows_) {
        const tick first = std::max(from, w.start), last = std::min(to, w.end);
        if (first < last) return {first, last};
    }
    return {to, to};
}

tick receive_writer::read_up_to() const noexcept {
    return bounded_time(node_.read.load(std::memory_order_acquire));
}

bool receive_writer::has_room(tick to) const noexcept {
    for (const local_window& w : windows_) {
        if (w.start >= to) break;
        // Samples of this or of an earlier window that the node has not read are still in the ring.
        const tick read = std::max(read_up_to(), windows_.front().start);
        if (std::min(to, w.end) - read > static_cast<tick>(receive_ring_size)) return false;
    }
    return true;
}

void receive_writer::write(tick at, std::span<const cf32> samples) noexcept {
    std::size_t done = 0;
    while (done < samples.size()) {
        const std::uint64_t index = (static_cast<std::uint64_t>(at) + done) % receive_ring_size;
        const std::size_t n =
            std::min<std::size_t>(samples.size() - done, receive_ring_size - index);
        std::memcpy(ring_ + index, samples.data() + done, n * sizeof(cf32));
        done += n;
    }
}

void receive_writer::overflow(tick from) noexcept {
    for (local_window& w : windows_) {
        if (w.end <= from) continue;
        const tick at = std::max(from, w.start);
        cut_by_overflow_ = true;
        commanded_end_ = w.end;
        w.end = at;
        w.shared->flags.fetch_or(window_overflow, std::memory_order_seq_cst);
        w.shared->end.store(at, std::memory_order_seq_cst);
        node_.overflows.fetch_add(1, std::memory_order_relaxed);
        announce();
        return;
    }
}

void receive_writer::released(tick now) noexcept {
    const tick read = read_up_to();
    // A window is forgotten when it is over and read.
    while (!windows_.empty() && windows_.front().end <= std::min(now, read)) windows_.pop_front();
    // New samples must not overwrite unread ones in the ring (has_room): a new window begins when
    // half of the ring is free.
    if (cut_by_overflow_ &&
        (windows_.empty() || now - read < static_cast<tick>(receive_ring_size / 2)))
        cut_by_overflow_ = now < commanded_end_ && !push(now, commanded_end_, 0);
    wake_if_wanted(now);
}

void receive_writer::wake_if_wanted(tick now) noexcept {
    if (!node_.samples.waiting.load(std::memory_order_seq_cst)) return;
    tick wanted = node_.receive_wanted.load(std::memory_order_seq_cst);
    if (wanted == never) return;  // the node waits for a window, and push() wakes it
    if (!windows_.empty()) wanted = std::min(wanted, windows_.front().end);
    if (now >= wanted) node_.samples.wake();
}

void receive_writer::reset() noexcept {
    windows_.clear();
    started_ = 0;
    cut_by_overflow_ = false;
    written_ = 0;
    node_.windows.written.store(0);
    node_.windows.taken.store(0);
    node_.read.store(0);
}

}  // namespace wip::air
