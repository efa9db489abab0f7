// SPDX-License-Identifier: GPL-3.0-or-later
// CoDel (RFC 8289): packets are marked or dropped at the head of the queue once the time that they
// have waited has been above the target for a whole interval; while that lasts, the next one
// follows interval / sqrt(count) later. A queue that holds no more than one packet of the largest
// size is left alone, so that a slow link can work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "queue/packet_fifo.h"

namespace wip {

inline constexpr std::int64_t codel_interval_ns = 100'000'000;

// One queue under CoDel's control.
class codel_fifo {
public:
    explicit codel_fifo(std::int64_t target_ns) : target_ns_(target_ns) {}

    void push(queued_packet&& packet) {
        largest_ = std::max(largest_, packet.bytes());
        fifo_.push(std::move(packet));
    }
    // The next packet, after those that `drop` gets; false if none is left. The queue is expected
    // to empty at `rate`.
    bool pop(std::int64_t now_ns, queued_packet& out, const drain_rate& rate,
             const std::function<void(queued_packet&&)>& drop);
    packet_fifo& packets() { return fifo_; }
    const packet_fifo& packets() const { return fifo_; }
    bool dropping() const { return dropping_; }
    // Number of marks and drops since the present dropping state began.
    std::uint32_t count() const { return count_; }

private:
    bool take(std::int64_t now_ns, queued_packet& out, const drain_rate& rate);
    bool signal(queued_packet& packet, const std::function<void(queued_packet&&)>& drop);
    std::int64_t control_law(std::int64_t from_ns) const;

    std::int64_t target_ns_;
    packet_fifo fifo_;
    std::size_t largest_ = 0;
    // When the time in the queue will have been above the target for a whole interval; 0: it is
    // below.
    std::int64_t first_above_ns_ = 0;
    std::int64_t next_ns_ = 0;  // time of the next drop or mark
    std::uint32_t count_ = 0, last_count_ = 0;
    bool above_ = false;  // for a whole interval, at the last take()
    bool dropping_ = false;
};

class codel final : public queue_discipline {
public:
    codel(drop_port& drops, std::int64_t target_ns)
        : queue_discipline(drops),
          queue_(target_ns),
          drop_([this](queued_packet&& p) { drop(std::move(p), queue_drop::managed); }) {}

    void push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) override;
    bool pop(std::int64_t now_ns, queued_packet& out) override {
        return queue_.pop(now_ns, out, rate(), drop_);
    }
    std::size_t packets() const override { return queue_.packets().size(); }
    std::size_t look(std::span<std::size_t> bytes) const override {
        return queue_.packets().look(bytes);
    }
    std::int64_t first_arrival_ns() const override { return queue_.packets().front().arrived_ns; }
    void drain(std::vector<queued_packet>& out) override { queue_.packets().drain(out); }
    void restore(queued_packet&& packet) override { queue_.push(std::move(packet)); }

private:
    codel_fifo queue_;
    std::function<void(queued_packet&&)> drop_;
};

}  // namespace wip
