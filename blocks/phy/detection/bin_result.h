// SPDX-License-Identifier: GPL-3.0-or-later
// The outcome of one bin of a slot.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

namespace wip::phy {

using cf32 = std::complex<float>;

enum class bin_outcome : std::uint8_t { unused, good, bad };

struct bin_result {
    bin_outcome outcome = bin_outcome::unused;
    bool combined = false;                  // detected after combining with an earlier copy
    std::span<const std::uint8_t> payload;  // nibble-packed, valid until the next call
    std::span<const cf32> symbols;          // 108 equalised symbols, unit energy scale
    std::span<const float> llr;             // 108 k soft bits (positive: 0); empty unless asked
};

}  // namespace wip::phy
