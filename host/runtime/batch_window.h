// SPDX-License-Identifier: GPL-3.0-or-later
// When a message with the records of several slots is published: in a slot whose number is a
// multiple of 15, as the topics that come every 15th slot by default, so that all of them wake
// ZeroMQ's thread up once. Not later than 15 slots after the batch began, also when slots are
// missing; earlier when it is large, which bounds what a reader has to take at once and what waits
// for one that does not read.
#pragma once

#include <cstddef>

#include "types/quantity.h"

namespace wip::host {

class batch_window {
public:
    static constexpr slot_count most_slots{15};
    static constexpr std::size_t most_bytes = 64 << 10;

    // Whether the batch is to be sent at the end of slot `now`, while it has `bytes` (0: it is
    // empty).
    bool due(slot now, std::size_t bytes) {
        last_ = now;
        if (bytes == 0) return false;
        if (!open_) first_ = now;
        open_ = true;
        return now.value % most_slots.value == 0 || now - first_ >= most_slots - slot_count(1) ||
               now < first_ || bytes >= most_bytes;
    }
    void published() { open_ = false; }
    // The slot of the last call of due().
    slot last() const { return last_; }

private:
    bool open_ = false;
    slot first_, last_;
};

}  // namespace wip::host
