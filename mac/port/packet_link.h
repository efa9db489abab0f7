// SPDX-License-Identifier: GPL-3.0-or-later
// One direction of anything that carries packets: a wired line, the emulated uplink, the OFDM cell,
// a bearer, a handover between two of them. It has no clock: time is nanoseconds of the owner's,
// given with every call and never going back, so that wall clock, discrete events and tests differ
// only in who calls advance().
//
//   offer(packet, now)   a packet comes
//   advance(now)         all that happens up to and with now; what is due goes to the sink
//   next_wakeup()        when advance() is next called: no later than the next packet is due
//
// Nothing is lost unseen: in = delivered + queued + all that is dropped, at any time. A link that
// knows by acknowledgements what arrived counts it as queued until then; once it is idle() all that
// it counts as delivered has been handed over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "types/packets_bytes.h"

namespace wip {

struct link_packet {
    std::span<const std::uint8_t> data;  // valid during the call
    int tag = 0;                         // as offered: whose packet it is
    std::int64_t offered_ns = 0;
    std::int64_t due_ns = 0;
};

struct link_sums {
    struct drop {
        const char* reason;
        packets_bytes count;
    };
    packets_bytes in, delivered, queued;
    std::vector<drop> dropped;
    // Part of `in`: packets that left a queue of the link with the mark "congestion experienced",
    // which its queue discipline had written. A packet that two queues marked counts twice.
    packets_bytes marked = {};

    // Adds the sums of a link of the same kind.
    link_sums& operator+=(const link_sums& o) {
        in += o.in, delivered += o.delivered, queued += o.queued, marked += o.marked;
        for (std::size_t i = 0; i < dropped.size(); ++i) dropped[i].count += o.dropped[i].count;
        return *this;
    }
    // The packets that are not accounted for; zero as long as the sums are exact.
    packets_bytes missing() const {
        packets_bytes rest = in - delivered - queued;
        for (const auto& d : dropped) rest -= d.count;
        return rest;
    }
};

class packet_link {
public:
    // Returns 0, or the errno with which the packet was refused where it goes. It may offer packets
    // to this link or to others.
    using sink = std::function<int(const link_packet&)>;
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

    packet_link() = default;
    packet_link(const packet_link&) = delete;
    packet_link& operator=(const packet_link&) = delete;
    virtual ~packet_link() = default;

    // Sets the sink that gets the delivered packets from now on. Without a sink, packets are
    // counted as delivered and discarded.
    void deliver_to(sink to) { sink_ = std::move(to); }

    // False when it was dropped at once (counted with its reason).
    virtual bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) = 0;
    virtual void advance(std::int64_t now_ns) = 0;
    virtual std::int64_t next_wakeup() const = 0;
    virtual link_sums sums() const = 0;
    // Whether nothing is queued.
    virtual bool idle() const = 0;

protected:
    int hand_over(const link_packet& packet) const { return sink_ ? sink_(packet) : 0; }

private:
    sink sink_;
};

}  // namespace wip
