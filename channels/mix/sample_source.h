// SPDX-License-Identifier: GPL-3.0-or-later
// A source of samples for a mixer: a node's FIFO in shared memory (air/transmit_queue.h), a radio,
// a file, a test.
#pragma once

#include <span>

#include "mix/tick.h"

namespace wip::mix {

class sample_source {
public:
    virtual ~sample_source() = default;
    // Returns false if all samples are zero, so that the mixer need not read them.
    virtual bool active() const noexcept = 0;
    // Samples of [from, from + out.size()) at unit gain; zero where nothing is sent. Returns false
    // if they are all zero.
    virtual bool read(tick from, std::span<cf32> out) const noexcept = 0;
};

}  // namespace wip::mix
