// SPDX-License-Identifier: GPL-3.0-or-later
// Packets in the order in which they came, with their bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "queue/queue_discipline.h"

namespace wip {

class packet_fifo {
public:
    bool empty() const { return packets_.empty(); }
    std::size_t size() const { return packets_.size(); }
    std::size_t bytes() const { return bytes_; }
    const queued_packet& front() const { return packets_.front(); }

    void push(queued_packet&& p) {
        bytes_ += p.bytes();
        packets_.push_back(std::move(p));
    }
    queued_packet pop() {
        queued_packet p = std::move(packets_.front());
        packets_.pop_front();
        bytes_ -= p.bytes();
        return p;
    }
    // Time that the first packet has been waiting for; 0 if there is none.
    std::int64_t sojourn_ns(std::int64_t now_ns) const {
        return empty() ? 0 : std::max<std::int64_t>(0, now_ns - front().arrived_ns);
    }
    std::size_t look(std::span<std::size_t> bytes) const {
        const std::size_t n = std::min(bytes.size(), packets_.size());
        for (std::size_t i = 0; i < n; ++i) bytes[i] = packets_[i].bytes();
        return n;
    }
    void drain(std::vector<queued_packet>& out) {
        for (; !empty();) out.push_back(pop());
    }

private:
    std::deque<queued_packet> packets_;
    std::size_t bytes_ = 0;
};

}  // namespace wip
