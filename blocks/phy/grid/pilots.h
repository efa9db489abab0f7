// SPDX-License-Identifier: GPL-3.0-or-later
// Pilot values of a sender: 30 slots x 100 QPSK symbols. Pilot p = 4 bin + i stands on element
// pilot_elements[i] of the bin; its two bits are bits 2p, 2p+1 of the sequence of
// (sender, slot in frame), mapped as 4-QAM. Two different sequences of 100 have a correlation of
// about 0.1, the worst of all pairs stays below one half (test_pilots), so that one slot tells both
// the cell and the slot within the frame.
#pragma once

#include <array>
#include <complex>

#include "phy/grid/resource_map.h"
#include "phy/grid/sender.h"

namespace wip::phy {

using cf32 = std::complex<float>;

class pilots {
public:
    explicit pilots(sender from);  // throws std::invalid_argument
    const std::array<cf32, nof_pilots>& of(int slot_in_frame) const {
        return values_[static_cast<std::size_t>(slot_in_frame)];
    }

private:
    std::array<std::array<cf32, nof_pilots>, slots_per_frame> values_;
};

}  // namespace wip::phy
