// SPDX-License-Identifier: GPL-3.0-or-later
// Two packet links one after the other, as one: what the first delivers is offered to the second
// when it is due. Neither has another user.
#pragma once

#include <algorithm>

#include "port/packet_link.h"

namespace wip {

class link_chain final : public packet_link {
public:
    link_chain(packet_link& first, packet_link& second) : first_(&first), second_(&second) {
        first.deliver_to([&second](const link_packet& p) {
            second.offer(p.data, p.due_ns, p.tag);
            return 0;
        });
        second.deliver_to([this](const link_packet& p) { return hand_over(p); });
    }

    bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag = 0) override {
        return first_->offer(packet, now_ns, tag);
    }
    void advance(std::int64_t now_ns) override {
        for (std::int64_t t = next_wakeup(); t < now_ns; t = next_wakeup()) step(t);
        step(now_ns);
        while (next_wakeup() <= now_ns) step(now_ns);
    }
    std::int64_t next_wakeup() const override {
        return std::min(first_->next_wakeup(), second_->next_wakeup());
    }
    link_sums sums() const override {
        link_sums all = first_->sums();
        const link_sums more = second_->sums();
        all.delivered = more.delivered;
        all.queued += more.queued;
        all.marked += more.marked;
        all.dropped.insert(all.dropped.end(), more.dropped.begin(), more.dropped.end());
        return all;
    }
    bool idle() const override { return first_->idle() && second_->idle(); }

private:
    void step(std::int64_t t) {
        first_->advance(t);
        second_->advance(t);
    }
    packet_link *first_, *second_;
};

}  // namespace wip
