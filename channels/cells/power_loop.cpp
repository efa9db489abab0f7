// SPDX-License-Identifier: GPL-3.0-or-later
#include "cells/power_loop.h"

#include <algorithm>
#include <cmath>

#include "types/db.h"

namespace wip::cells {

power_loop::power_loop(const cells_config& c)
    : highest_dbw_(c.power_dbw),
      step_db_(c.step_db),
      low_(static_cast<float>(db(c.target_low_db).power())),
      high_(static_cast<float>(db(c.target_high_db).power())),
      lowest_(static_cast<int>(std::floor(c.power_range_db / c.step_db + 1e-9))),
      levels_(static_cast<std::size_t>(c.users), lowest_),
      decisions_(static_cast<std::size_t>(c.loop_slots),
                 std::vector<std::int8_t>(static_cast<std::size_t>(c.users), 0)),
      powers_(static_cast<std::size_t>(c.users)) {
    for (int level = 0; level <= lowest_; ++level)
        watts_.push_back(static_cast<float>(db(highest_dbw_ - step_db_ * level).power()));
}

std::span<const float> power_loop::next_slot() {
    const auto& decided = decisions_[at_];
    for (std::size_t u = 0; u < levels_.size(); ++u) {
        levels_[u] = std::clamp(levels_[u] + decided[u], 0, lowest_);
        powers_[u] = watts_[static_cast<std::size_t>(levels_[u])];
    }
    return powers_;
}

void power_loop::measured(std::span<const float> sir) {
    auto& decided = decisions_[at_];
    for (std::size_t u = 0; u < decided.size(); ++u)
        decided[u] = static_cast<std::int8_t>((sir[u] > high_ ? 1 : 0) - (sir[u] < low_ ? 1 : 0));
    at_ = (at_ + 1) % decisions_.size();
}

}  // namespace wip::cells
