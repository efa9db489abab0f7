// SPDX-License-Identifier: GPL-3.0-or-later
// Fast closed-loop power control of many transmitters: in each slot the power of each goes one step
// up, one step down or stays, by the SIR that was measured `delay` slots before. A power is the
// highest one less a whole number of steps, and stays at an end of the range when it reaches it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cells/cells_config.h"

namespace wip::cells {

class power_loop {
public:
    power_loop(const cells_config& config);

    // The powers of the next slot, W. To be called once a slot, before measured().
    std::span<const float> next_slot();
    // Takes the SIR of each transmitter in this slot, linear.
    void measured(std::span<const float> sir);
    double power_dbw(int user) const {
        return highest_dbw_ - step_db_ * levels_[static_cast<std::size_t>(user)];
    }

private:
    double highest_dbw_, step_db_;
    float low_, high_;
    int lowest_;                        // level of the lowest power
    std::size_t at_ = 0;                // index of the oldest entry of decisions_
    std::vector<float> watts_;          // [level], W
    std::vector<std::int32_t> levels_;  // steps below the highest power
    // [slot][user], of the last slots: change of the level.
    std::vector<std::vector<std::int8_t>> decisions_;
    std::vector<float> powers_;
};

}  // namespace wip::cells
