// SPDX-License-Identifier: GPL-3.0-or-later
// IP packets for the tests of queues, and a queue that is offered and served at constant rates.
#pragma once

#include <cstdint>
#include <vector>

#include "queue/packet_queue.h"
#include "wire/ecn.h"
#include "wire/ip_header.h"

namespace wip::test {

inline constexpr std::int64_t ms = 1'000'000;

// A UDP packet of IPv4 with this ECN field; `flow` is in its source port.
inline std::vector<std::uint8_t> udp(std::size_t bytes, ecn field = ecn::not_ect, int flow = 0) {
    std::vector<std::uint8_t> p(bytes);
    p[0] = 0x45;
    p[1] = static_cast<std::uint8_t>(field);
    p[2] = static_cast<std::uint8_t>(bytes >> 8);
    p[3] = static_cast<std::uint8_t>(bytes);
    p[8] = 64;
    p[9] = 17;
    p[12] = 10, p[15] = 1;
    p[16] = 10, p[19] = 2;
    p[20] = static_cast<std::uint8_t>(flow >> 8);
    p[21] = static_cast<std::uint8_t>(flow);
    const auto sum = static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20)));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

inline std::vector<std::uint8_t> udp6(std::size_t bytes, ecn field = ecn::not_ect, int flow = 0) {
    std::vector<std::uint8_t> p(bytes);
    p[0] = 0x60;
    p[1] = static_cast<std::uint8_t>(static_cast<int>(field) << 4);
    p[4] = static_cast<std::uint8_t>((bytes - 40) >> 8);
    p[5] = static_cast<std::uint8_t>(bytes - 40);
    p[6] = 17;
    p[8] = p[24] = 0xfd;
    p[23] = 1, p[39] = 2;
    p[40] = static_cast<std::uint8_t>(flow >> 8);
    p[41] = static_cast<std::uint8_t>(flow);
    return p;
}

// A queue with everything that happens to its packets, in order.
struct watched_queue {
    struct event {
        std::int64_t at_ns = 0;
        std::uint64_t order = 0;
        bool dropped = false, marked = false;
        queue_drop why = queue_drop::full;
        std::int64_t sojourn_ns = 0;
        std::vector<std::uint8_t> data;
    };

    explicit watched_queue(const queue_config& c, std::size_t most = 100000)
        : room(most), queue(c, [this](const queued_packet& p, queue_drop why) {
              events.push_back({now, p.order, true, false, why, now - p.arrived_ns, p.data});
              dropped.add(p.bytes());
          }) {}

    bool push(const std::vector<std::uint8_t>& data, std::int64_t at_ns) {
        now = at_ns;
        in.add(data.size());
        return queue.push(queue.make(data), at_ns, room);
    }
    bool pop(std::int64_t at_ns) {
        now = at_ns;
        queued_packet p;
        if (!queue.pop(at_ns, p)) return false;
        events.push_back({at_ns, p.order, false, p.marked, {}, at_ns - p.arrived_ns, p.data});
        out.add(p.bytes());
        queue.recycle(std::move(p));
        return true;
    }
    // in = out + waiting + dropped.
    bool exact() const { return in == out + dropped + queue.waiting(); }

    std::int64_t now = 0;
    std::size_t room;
    packets_bytes in, out, dropped;
    packet_queue queue;
    std::vector<event> events;
};

}  // namespace wip::test
