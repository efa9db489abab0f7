// SPDX-License-Identifier: GPL-3.0-or-later
// DualPI2 (RFC 9332, appendix A): two queues that share the link. Packets with ECT(1) or CE go into
// the L4S queue, all others into the classic one.
//
//   p'    a PI controller changes it every min(target, 33 ms) by the distance of the delay from
//         the target and by the change of the delay
//   classic  dropped, or marked where its sender reacts to marks, with probability p'^2
//   L4S      marked with the larger one of 2 p' (the coupling factor k = 2) and of a ramp between
//            0.8 ms and 1.2 ms of its own delay; the ramp counts once more than one packet waits
//
// In overload (2 p' has reached 1) both queues drop with p'^2, up to 1/4. The L4S queue has
// priority by weight: 1/16 of the bytes remain for the classic queue. Probabilities are applied
// without random numbers, by adding them up until they reach 1.
#pragma once

#include <cstdint>

#include "queue/packet_fifo.h"

namespace wip {

class dualpi2 final : public queue_discipline {
public:
    static constexpr double coupling = 2, most_classic = 1 / (coupling * coupling);
    static constexpr std::int64_t longest_rtt_ns = 100'000'000;
    static constexpr std::int64_t ramp_from_ns = 800'000, ramp_to_ns = 1'200'000;

    dualpi2(drop_port& drops, std::int64_t target_ns);

    void push(queued_packet&& packet, std::int64_t now_ns, std::size_t room) override;
    bool pop(std::int64_t now_ns, queued_packet& out) override;
    std::size_t packets() const override { return l4s_.size() + classic_.size(); }
    std::size_t look(std::span<std::size_t> bytes) const override;
    std::int64_t first_arrival_ns() const override;
    void drain(std::vector<queued_packet>& out) override;
    void restore(queued_packet&& packet) override;

    // p', and what follows from it.
    double base_probability() const { return base_; }
    double classic_probability() const { return base_ * base_; }
    double coupled_probability() const { return coupling * base_; }

private:
    // Returns true whenever the probabilities so far have added up to a further whole 1.
    class recurrence {
    public:
        bool hits(double likelihood) {
            sum_ += likelihood;
            if (sum_ <= 1) return false;
            sum_ -= 1;
            return true;
        }

    private:
        double sum_ = 0;
    };

    void bring_up_to(std::int64_t now_ns);
    void update(std::int64_t at_ns);
    bool l4s_is_next();
    bool keep_l4s(queued_packet& packet, std::int64_t now_ns);
    bool keep_classic(queued_packet& packet);

    std::int64_t target_ns_, update_ns_;
    double alpha_, beta_;  // gains of an update, per second of delay
    packet_fifo l4s_, classic_;
    recurrence l4s_mark_, l4s_drop_, classic_signal_;
    bool started_ = false;
    std::int64_t next_update_ns_ = 0;
    std::int64_t delay_ns_ = 0;  // at the last update
    double base_ = 0;            // p'
    double credit_ = 0;          // bytes by which the classic queue is behind its share
};

}  // namespace wip
