// SPDX-License-Identifier: GPL-3.0-or-later
#include "drawn_world.h"

#include <algorithm>
#include <stdexcept>

namespace wip::sim {

void memory_watch::after_phase() {
    if (mac_memory == nullptr) return;
    held_.push_back(mac_memory());
    if (held_.size() < phases + 1) return;
    std::int64_t least = INT64_MAX;
    for (std::size_t i = held_.size() - phases; i < held_.size(); ++i)
        least = std::min(least, held_[i] - held_[i - 1]);
    if (least * static_cast<std::int64_t>(phases) > allowance_)
        throw std::logic_error("the MACs' memory grows without an end, by " +
                               std::to_string(least) + " bytes or more in every phase");
}

}  // namespace wip::sim
