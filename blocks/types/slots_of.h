// SPDX-License-Identifier: GPL-3.0-or-later
// The slots that a time takes, rounded up. Decimal fractions of a millisecond are not exact in
// binary, so a hair of tolerance keeps 2 ms at 3 slots instead of 4. `slots_of` in
// host/cli/openwip_cli/settings/rules.py is its sister for the commands.
#pragma once

#include <cmath>
#include <cstdint>

#include "types/grid.h"

namespace wip {

/// `ms`: a time in milliseconds, of at most a day; the result is in slots.
inline std::int64_t slots_of_ms(double ms) {
    return static_cast<std::int64_t>(
        std::ceil(ms * static_cast<double>(slots_per_second) / 1000 - 1e-9));
}

}  // namespace wip
