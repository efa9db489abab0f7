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
    // false: nothing is known that may not be zero; the mixer then need not ask for samples.
    virtual bool active() const noexcept = 0;
    // Samples of [from, from + out.size()) at unit gain; zero where nothing is sent. false: all
    // zero.
    virtual bool read(tick from, std::span<cf32> out) const noexcept = 0;
};

}  // namespace wip::mix
