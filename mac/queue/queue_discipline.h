// SPDX-License-Identifier: GPL-3.0-or-later
// A queue discipline: which of the waiting packets is sent next, which is marked, and which is
// dropped. It has no clock: time is nanoseconds of the owner's, given with every call and never
// going back. packet_queue (queue/packet_queue.h) owns one and keeps the counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "queue/drain_rate.h"

namespace wip {

struct queued_packet {
    std::vector<std::uint8_t> data;
    std::int64_t arrived_ns = 0;
    std::uint64_t order = 0;  // number of packets that came before it; set by packet_queue
    bool marked = false;      // this queue has written "congestion experienced"
    // Fields of the queue's owner, which the queue does not read: user, number of the packet,
    // arrival by the owner's clock, time on the way before (delivery_link: when its service began),
    // and which journal follows the packet (0: none).
    int tag = 0;
    std::uint64_t number = 0;
    std::int64_t came_ns = 0, before_ns = 0;
    std::uint32_t followed = 0;

    std::size_t bytes() const { return data.size(); }
    // Marks the packet, or returns false if its sender does not react to marks.
    bool mark();
};

enum class queue_drop : std::uint8_t {
    full,     // there was no room
    managed,  // the discipline dropped it, to signal congestion
};

// Receives the packets that a discipline drops.
class drop_port {
public:
    virtual void drop(queued_packet&& packet, queue_drop why) = 0;

protected:
    ~drop_port() = default;
};

class queue_discipline {
public:
    explicit queue_discipline(drop_port& drops) : drops_(&drops) {}
    queue_discipline(const queue_discipline&) = delete;
    queue_discipline& operator=(const queue_discipline&) = delete;
    virtual ~queue_discipline() = default;

    // Takes the packet, or drops it or another one. `room`: how many packets may wait, this one
    // included.
    virtual void push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) = 0;
    // The next packet; false if none is left.
    virtual bool pop(std::int64_t now_ns, queued_packet& out) = 0;
    virtual std::size_t packets() const = 0;
    // Fills the sizes of the packets that are next if none is dropped, as many as there are and
    // `bytes` has room for. Returns how many it filled.
    virtual std::size_t look(std::span<std::size_t> bytes) const = 0;
    // Arrival of the first packet that waits; the queue is not empty.
    virtual std::int64_t first_arrival_ns() const = 0;
    // Moves all packets out, in any order.
    virtual void drain(std::vector<queued_packet>& out) = 0;
    // Takes a packet that was queued before, without a decision.
    virtual void restore(queued_packet&& packet) = 0;
    // From now on the queue is expected to empty at this rate.
    void expect(const drain_rate& rate) { rate_ = rate; }

protected:
    const drain_rate& rate() const { return rate_; }
    void drop(queued_packet&& packet, queue_drop why) {
        drops_->drop(static_cast<queued_packet&&>(packet), why);
    }

private:
    drop_port* drops_;
    drain_rate rate_;
};

}  // namespace wip
