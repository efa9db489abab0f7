// SPDX-License-Identifier: GPL-3.0-or-later
// FQ-CoDel (RFC 8290): 1024 queues by a hash of the flow, each under CoDel's control, served by
// deficit round robin with a quantum of one large packet. A flow that begins to send is served
// before those that have had a turn. When the queues are full together, up to half of the packets
// of the one with the most bytes are dropped from its head, at most 64.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "queue/codel.h"

namespace wip {

class fq_codel final : public queue_discipline {
public:
    static constexpr std::size_t nof_flows = 1024;
    static constexpr std::int64_t quantum_bytes = 1514;

    fq_codel(drop_port& drops, std::int64_t target_ns, std::uint64_t seed);

    void push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) override;
    bool pop(std::int64_t now_ns, queued_packet& out) override;
    std::size_t packets() const override { return packets_; }
    std::size_t look(std::span<std::size_t> bytes) const override;
    std::int64_t first_arrival_ns() const override;
    void drain(std::vector<queued_packet>& out) override;
    void restore(queued_packet&& packet) override { take_in(std::move(packet)); }

private:
    struct flow {
        explicit flow(std::int64_t target_ns) : queue(target_ns) {}
        codel_fifo queue;
        std::int64_t deficit = 0;
        bool listed = false;  // in new_ or old_
    };
    using turns = std::list<flow*>;

    void take_in(queued_packet&& packet);
    void make_room();

    std::int64_t target_ns_;
    std::uint64_t key_;                                   // key of the hash
    std::array<std::unique_ptr<flow>, nof_flows> flows_;  // those that have ever had a packet
    turns new_, old_;  // flows that have not had a turn yet, and flows that have
    std::size_t packets_ = 0;
    std::function<void(queued_packet&&)> drop_;
};

}  // namespace wip
