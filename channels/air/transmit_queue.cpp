// SPDX-License-Identifier: GPL-3.0-or-later
#include "air/transmit_queue.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace wip::air {

void post_event(node_block& node, event_kind kind, tick time) noexcept {
    const std::uint64_t at = node.events.written.load(std::memory_order_relaxed);
    event& place = node.events.at(at);
    // Released, so that a reader that meets one of these values also sees that `at` is being
    // written (read_event).
    std::atomic_ref(place.time).store(time, std::memory_order_release);
    std::atomic_ref(place.kind).store(kind, std::memory_order_release);
    node.events.written.store(at + 1, std::memory_order_seq_cst);
    node.happened.notify();
}

std::optional<event> read_event(node_block& node, std::uint64_t& next) noexcept {
    auto& events = node.events;
    for (std::uint64_t written = events.written.load(std::memory_order_acquire);;) {
        // The writer may be replacing the oldest event by event number `written` at this moment.
        const std::uint64_t kept = events.size - 1;
        if (written - next > kept) next = written - kept;
        if (next == written) return {};
        event& place = events.at(next);
        const event e{std::atomic_ref(place.time).load(std::memory_order_acquire),
                      std::atomic_ref(place.kind).load(std::memory_order_acquire)};
        written = events.written.load(std::memory_order_acquire);
        if (written - next > kept) continue;  // the event was overwritten while it was read
        ++next;
        return e;
    }
}

bool transmit_writer::open(tick time, tick now, bool hold) noexcept {
    auto& bursts = node_.bursts;
    if (opened_ - bursts.taken.load(std::memory_order_acquire) >= bursts.size) return false;
    burst& b = bursts.at(opened_);
    b.time = time;
    b.opened_at = now;
    b.first = position_;
    b.hold = hold;
    b.state.store(position_ << burst_flag_bits, std::memory_order_relaxed);
    bursts.written.store(++opened_, std::memory_order_seq_cst);
    current_ = &b;
    end_time_ = time;
    header_.work.notify();
    return true;
}

std::uint64_t transmit_writer::room() const noexcept {
    const std::uint64_t used = position_ - node_.fifo_freed.load(std::memory_order_acquire);
    return used > transmit_fifo_size ? 0 : transmit_fifo_size - used;
}

bool transmit_writer::wait_room(std::chrono::nanoseconds timeout) {
    return node_.room.wait([this] { return room() > 0; }, timeout);
}

std::span<cf32> transmit_writer::claim(std::uint64_t n) noexcept {
    const std::uint64_t index = position_ % transmit_fifo_size;
    return {fifo_ + index, std::min({n, room(), transmit_fifo_size - index})};
}

transmit_writer::outcome transmit_writer::publish(std::uint64_t n) noexcept {
    std::uint64_t state = current_->state.load(std::memory_order_acquire);
    const std::uint64_t end = position_ + n;
    do {
        if (state & burst_refused) {
            current_ = nullptr;
            return state & burst_late ? outcome::late : outcome::starved;
        }
    } while (!current_->state.compare_exchange_weak(state, end << burst_flag_bits,
                                                    std::memory_order_seq_cst));
    position_ = end;
    node_.fifo_written.store(end, std::memory_order_seq_cst);
    if (end_time_ != as_soon_as_possible) end_time_ += static_cast<tick>(n);
    if (end >= node_.wanted.load(std::memory_order_seq_cst)) header_.work.notify();
    return outcome::published;
}

void transmit_writer::close() noexcept {
    if (!current_) return;
    current_->state.fetch_or(burst_closed, std::memory_order_seq_cst);
    current_ = nullptr;
    header_.work.notify();
}

transmit_reader::extent transmit_reader::look(const local_burst& b) const noexcept {
    const std::uint64_t s = b.shared->state.load(std::memory_order_acquire);
    // The samples of a burst are in the FIFO, so their end is at most the length of the FIFO after
    // the freed samples.
    if ((s >> burst_flag_bits) - b.first > freed_ + transmit_fifo_size - b.first) {
        damaged_ = true;
        return {b.first, true, false, true};
    }
    return {s >> burst_flag_bits, (s & (burst_closed | burst_refused)) != 0, (s & burst_late) != 0,
            (s & burst_refused) != 0};
}

bool transmit_reader::is_ready(std::uint64_t at) const noexcept {
    const std::uint64_t written = node_.bursts.written.load(std::memory_order_acquire);
    if (damaged_ || at == written) return false;
    if (written - taken_ > node_.bursts.size || at - taken_ >= written - taken_) {
        damaged_ = true;
        return true;  // collect() then finds the damage
    }
    const burst& b = node_.bursts.at(at);
    const std::uint64_t state = b.state.load(std::memory_order_acquire);
    return b.time != as_soon_as_possible || (state & burst_closed) ||
           (state >> burst_flag_bits) > b.first;
}

transmit_reader::news transmit_reader::collect(tick now, tick asap_time) noexcept {
    news n;
    for (std::uint64_t at = collected(); is_ready(at) && !damaged_; ++at) {
        burst& shared = node_.bursts.at(at);
        const tick given_time = snapshot(shared.time);
        const std::uint64_t first = snapshot(shared.first);
        if (first - freed_ > transmit_fifo_size) {
            damaged_ = true;
            break;
        }
        tick earliest = busy_until_;
        for (const local_burst& before : bursts_)
            if (const extent e = look(before); !e.late) earliest = end_time(before, e);
        const bool timed = given_time != as_soon_as_possible;
        const bool no_time = timed && !is_time(given_time);
        const tick opened_at = snapshot(shared.opened_at);
        local_burst b{&shared, timed ? bounded_time(given_time) : std::max(asap_time, earliest),
                      first, false};
        const bool decided_by_node = node_.judges.load(std::memory_order_relaxed) != 0;
        // The medium may find a burst late all the same, if the node was interrupted between its
        // decision and the write. The part of it that is still to come is on the air.
        if (decided_by_node && timed && b.start < now)
            node_.lates.fetch_add(1, std::memory_order_relaxed);
        const bool late = !decided_by_node && (b.start < opened_at || b.start < now);
        if (no_time || (timed && (late || b.start < earliest))) {
            shared.state.fetch_or(burst_refused | burst_late, std::memory_order_seq_cst);
            post_event(node_, event_kind::late, opened_at);
            n.malformed += no_time;
            node_.lates.fetch_add(1, std::memory_order_relaxed);
            ++n.late;
        } else {
            n.earliest = std::min(n.earliest, b.start);
            hold_ = hold_ || shared.hold;
        }
        bursts_.push_back(b);
        ++opened_;
        ++n.opened;
    }
    return n;
}

tick transmit_reader::known_until() const noexcept {
    tick last_end = busy_until_;
    for (const local_burst& b : bursts_) {
        const extent e = look(b);
        if (e.late) continue;
        if (!e.closed) return end_time(b, e);
        last_end = end_time(b, e);
    }
    return hold_ ? last_end : never;
}

void transmit_reader::want(tick time) noexcept {
    std::uint64_t position = 0;  // 0: any new burst or sample wakes the medium
    for (const local_burst& b : bursts_) {
        const extent e = look(b);
        if (e.late || e.closed) continue;
        if (time > b.start) position = b.first + static_cast<std::uint64_t>(time - b.start);
        break;
    }
    node_.wanted.store(position, std::memory_order_seq_cst);
}

bool transmit_reader::read(tick from, std::span<cf32> out) const noexcept {
    const tick to = from + static_cast<tick>(out.size());
    tick done = from;
    bool any = false;
    for (const local_burst& b : bursts_) {
        const extent e = look(b);
        if (e.late) continue;
        const tick first = std::max(done, b.start), last = std::min(to, end_time(b, e));
        if (first >= last) continue;
        std::fill(out.begin() + (done - from), out.begin() + (first - from), cf32{});
        for (tick t = first; t < last;) {
            const std::uint64_t index =
                (b.first + static_cast<std::uint64_t>(t - b.start)) % transmit_fifo_size;
            const tick n = std::min<tick>(last - t, static_cast<tick>(transmit_fifo_size - index));
            std::memcpy(out.data() + (t - from), fifo_ + index,
                        static_cast<std::size_t>(n) * sizeof(cf32));
            t += n;
        }
        done = last;
        any = true;
    }
    std::fill(out.begin() + (done - from), out.end(), cf32{});
    return any;
}

bool transmit_reader::starve(tick time) noexcept {
    if (node_.judges.load(std::memory_order_relaxed) != 0) return false;
    for (local_burst& b : bursts_) {
        std::uint64_t s = b.shared->state.load(std::memory_order_acquire);
        if (s & (burst_closed | burst_refused)) continue;
        const tick end = end_time(b, look(b));
        if (damaged_ || end >= time) return false;
        // If the node has published samples meanwhile, it was in time.
        if (!b.shared->state.compare_exchange_strong(s, s | burst_refused)) return false;
        post_event(node_, event_kind::underflow, end);
        node_.underflows.fetch_add(1, std::memory_order_relaxed);
        return true;
    }
    return false;
}

void transmit_reader::acknowledge(tick time) noexcept {
    for (local_burst& b : bursts_) {
        if (b.acknowledged) continue;
        const extent e = look(b);
        if (!e.closed) return;
        if (!e.refused) {
            if (end_time(b, e) > time) return;
            post_event(node_, event_kind::burst_acknowledged, end_time(b, e));
        }
        b.acknowledged = true;
    }
}

void transmit_reader::free_to(std::uint64_t position) noexcept {
    if (freed_ == position) return;
    freed_ = position;
    node_.fifo_freed.store(position, std::memory_order_seq_cst);
    node_.room.notify();
}

void transmit_reader::free_before(tick time) noexcept {
    while (!bursts_.empty()) {
        const local_burst& b = bursts_.front();
        const extent e = look(b);
        const bool over = e.closed && (e.late || (b.acknowledged && end_time(b, e) <= time));
        if (!over) {
            if (time > b.start)
                free_to(std::min(e.end, b.first + static_cast<std::uint64_t>(time - b.start)));
            return;
        }
        if (!e.late) busy_until_ = std::max(busy_until_, end_time(b, e));
        const std::uint64_t end = e.end;
        bursts_.pop_front();
        node_.bursts.taken.store(++taken_, std::memory_order_seq_cst);
        free_to(end);
        node_.room.notify();
    }
}

void transmit_reader::reset() noexcept {
    bursts_.clear();
    opened_ = 0;
    hold_ = false;
    damaged_ = false;
    taken_ = freed_ = 0;
    node_.bursts.written.store(0);
    node_.bursts.taken.store(0);
    node_.fifo_written.store(0);
    node_.fifo_freed.store(0);
    node_.wanted.store(0);
}

}  // namespace wip::air
