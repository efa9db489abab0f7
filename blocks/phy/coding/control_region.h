// SPDX-License-Identifier: GPL-3.0-or-later
// The grant of a slot in the 200 control symbols.
//
//   30 bytes of grant + CRC-16 -> 256 bits -> convolutional code -> 400 bits c -> interleaver ->
//   scrambling -> 4-QAM
//
// Interleaver: coded bit j goes to place 153 j mod 400; place q is bit q mod 2 of control symbol
// q / 2, symbols counted bin by bin in the order of control_elements. 153 is 400 times the golden
// section: neighbours of the code are 9.6 bins apart, no two of any 12 coded bits in a row share a
// bin. Scrambling: bit q is inverted when bit q of the sequence of (cell, slot in frame) is 1.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

#include "phy/coding/convolutional_code.h"
#include "phy/grid/resource_map.h"
#include "types/grant.h"

namespace wip::phy {

using cf32 = std::complex<float>;
using control_symbols = std::array<cf32, nof_control_symbols>;

class control_region {
public:
    explicit control_region(int cell) { set_cell(cell); }
    void set_cell(int cell) noexcept;

    // Unit-energy symbols in the order of the places.
    void encode(std::span<const std::uint8_t, grant_bytes> grant, int slot_in_frame,
                control_symbols& out) const noexcept;

    // soft: two values a symbol (real, imaginary), positive where the coordinate is positive,
    // weighted by reliability. Returns whether the CRC holds. On success `again` holds the symbols
    // as they were sent: known symbols for the channel estimate.
    bool decode(std::span<const float, code_sent_bits> soft, int slot_in_frame,
                std::span<std::uint8_t, grant_bytes> grant, control_symbols& again) noexcept;

private:
    void map(std::span<const std::uint8_t, code_information_bits> bits, int slot_in_frame,
             control_symbols& out) const noexcept;
    std::array<std::array<std::uint8_t, code_sent_bits>, slots_per_frame> scrambling_;
    convolutional_code code_;
};

}  // namespace wip::phy
