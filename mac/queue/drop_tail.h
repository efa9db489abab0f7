// SPDX-License-Identifier: GPL-3.0-or-later
// First in, first out; a packet that finds the queue full is dropped.
#pragma once

#include <utility>

#include "queue/packet_fifo.h"

namespace wip {

class drop_tail final : public queue_discipline {
public:
    using queue_discipline::queue_discipline;

    void push(queued_packet&& packet, std::int64_t, std::size_t room) override {
        if (fifo_.size() >= room)
            drop(std::move(packet), queue_drop::full);
        else
            fifo_.push(std::move(packet));
    }
    bool pop(std::int64_t, queued_packet& out) override {
        if (fifo_.empty()) return false;
        out = fifo_.pop();
        return true;
    }
    std::size_t packets() const override { return fifo_.size(); }
    std::size_t look(std::span<std::size_t> bytes) const override { return fifo_.look(bytes); }
    std::int64_t first_arrival_ns() const override { return fifo_.front().arrived_ns; }
    void drain(std::vector<queued_packet>& out) override { fifo_.drain(out); }
    void restore(queued_packet&& packet) override { fifo_.push(std::move(packet)); }

private:
    packet_fifo fifo_;
};

}  // namespace wip
