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

}  // namespace wip
