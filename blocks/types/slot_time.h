// SPDX-License-Identifier: GPL-3.0-or-later
// Slots in nanoseconds of sample time, since the start of slot 0: slot k starts at floor(k 2/3 ms).
// Every place that turns slots into time uses this one function, so that sums of differences are
// exact.
#pragma once

#include <cstdint>

#include "types/quantity.h"

namespace wip {

constexpr std::int64_t slot_start_ns(slot s) {
    const std::int64_t thirds = s.value * 2'000'000;
    return thirds >= 0 ? thirds / 3 : -((-thirds + 2) / 3);
}

// The slot in which that time is: the last one that has started by then.
constexpr slot slot_at_ns(std::int64_t ns) {
    const std::int64_t halves = 3 * ns + 2;
    constexpr std::int64_t per_slot = 2'000'000;
    return slot(halves >= 0 ? halves / per_slot : -((-halves + per_slot - 1) / per_slot));
}

}  // namespace wip
