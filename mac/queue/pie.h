// SPDX-License-Identifier: GPL-3.0-or-later
// PIE (RFC 8033): an arriving packet is dropped with a probability that a controller changes every
// 15 ms by how far the queueing delay is from the target and by how it changes. A burst of 150 ms
// after an idle time is let through. As long as the probability is below 0.1, a packet whose sender
// reacts to marks is marked instead. The delay is the time that the first packet of the queue has
// waited for.
#pragma once

#include <cstdint>
#include <random>
#include <utility>

#include "queue/packet_fifo.h"

namespace wip {

class pie final : public queue_discipline {
public:
    static constexpr std::int64_t update_ns = 15'000'000, burst_ns = 150'000'000;
    static constexpr double alpha = 0.125, beta = 1.25;  // per second of delay

    pie(drop_port& drops, std::int64_t target_ns, std::uint64_t seed)
        : queue_discipline(drops), target_ns_(target_ns), random_(seed) {}

    void push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) override;
    bool pop(std::int64_t now_ns, queued_packet& out) override;
    std::size_t packets() const override { return fifo_.size(); }
    std::size_t look(std::span<std::size_t> bytes) const override { return fifo_.look(bytes); }
    std::int64_t first_arrival_ns() const override { return fifo_.front().arrived_ns; }
    void drain(std::vector<queued_packet>& out) override { fifo_.drain(out); }
    void restore(queued_packet&& packet) override { fifo_.push(std::move(packet)); }

    double probability() const { return probability_; }

private:
    void bring_up_to(std::int64_t now_ns);
    void update(std::int64_t at_ns);
    bool hits(const queued_packet& packet);
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

    std::int64_t target_ns_;
    packet_fifo fifo_;
    std::mt19937_64 random_;
    bool started_ = false;
    std::int64_t next_update_ns_ = 0;
    double probability_ = 0, accumulated_ = 0;
    std::int64_t delay_ns_ = 0;  // at the last update
    std::int64_t burst_left_ns_ = burst_ns;
    double mean_bytes_ = 0;
};

}  // namespace wip
