// SPDX-License-Identifier: GPL-3.0-or-later
// The report of the terminal about one received slot.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "types/grid.h"

namespace wip {

struct slot_feedback {
    slot air;  // the slot j that it reports on
    bool locked = false;
    bool grant_ok = false;                           // false: no frame of the slot was received
    std::uint32_t ack = 0;                           // bit b: the frame in bin b was received
    std::array<float, nof_bins> predicted_snr_db{};  // for slot j + retransmission delay
    // Running NMSE of these predictions as the terminal measures it; NaN: not known.
    float prediction_nmse = std::numeric_limits<float>::quiet_NaN();
};

}  // namespace wip
