// SPDX-License-Identifier: GPL-3.0-or-later
// What a scheduler has to know of one user to share out the bins of a slot.
#pragma once

#include <array>
#include <cstdint>

#include "types/grid.h"

namespace wip {

struct scheduling_view {
    bool hears = false;                              // locked, and heard from lately
    std::array<float, nof_bins> predicted_snr_db{};  // for this slot
    std::array<std::uint8_t, nof_bins> rate{};       // bits per symbol that a bin would get
    // What waits, in the order in which bins take it, in nibbles: one piece for each failed unit,
    // then the queue, as one piece (packing) or as one for each packet. A bin takes its payload's
    // worth from the first piece and nothing from the next. More pieces than bins never matter.
    std::array<int, nof_bins> piece{};
    int nof_pieces = 0;
};

}  // namespace wip
