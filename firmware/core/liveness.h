// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the board's watchdog may be fed: only while both halves of the firmware make progress. A
// turn of the main loop asks, so that it runs; and the tick has to have brought all that it had to
// the chips since the last time, so that it runs, too. If either stalls, the watchdog is not
// fed.
#pragma once

#include <cstdint>

namespace wip::attenuator {

class liveness {
public:
    // Least interval at which the watchdog is fed, so that a register is not written in each turn.
    static constexpr std::uint32_t least_ticks = 50;

    // Whether to feed the watchdog. Call in every turn of the main loop; `done`: ticks that are
    // complete so far.
    bool turn(std::uint32_t done) {
        if (done - fed_at_ < least_ticks) return false;
        fed_at_ = done;
        return true;
    }

private:
    std::uint32_t fed_at_ = 0;
};

}  // namespace wip::attenuator
