// SPDX-License-Identifier: GPL-3.0-or-later
// The receiver's result for one bin of a slot. Its outcome is never `unknown`: where no grant was
// decoded, no bin is in use.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "types/frame_outcome.h"

namespace wip::phy {

using cf32 = std::complex<float>;

struct bin_result {
    frame_outcome outcome = frame_outcome::unused;
    bool combined = false;                  // detected after combining with an earlier copy
    std::span<const std::uint8_t> payload;  // nibble-packed, valid until the next call
    std::span<const cf32> symbols;          // 108 equalised symbols, unit energy scale
    std::span<const float> llr;             // 108 k soft bits (positive: 0); empty by default
};

}  // namespace wip::phy
