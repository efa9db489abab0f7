// SPDX-License-Identifier: GPL-3.0-or-later
// How well the pilots of a slot agree with the values they should have.
//
// Neighbouring pilots of one OFDM symbol (10 subcarriers apart) are multiplied: p_i = conj(y_i)
// y_i+1, 49 products in each of two symbols. The channel's phase falls out of a product; what is
// left turns with the delay, 2 pi 10 / 768 a sample. The same products of the values sent are c_i,
// powers of j. With S = sum conj(c_i) p_i:
//   magnitude  |S| / sum |p_i|: about SNR / (SNR + 1) for the right values, 0.13 for others
//   z          sqrt 2 Re(conj(d) S) / sqrt(sum |p_i|^2), d the direction that S is expected to
//              have: 1 for a receiver whose timing is the mean delay, or that of the slots before
// Without a signal the phases of y are independent and uniform, those of the p_i as well, and given
// their magnitudes E exp(a z) = prod I0(sqrt 2 a |p_i| / sqrt(sum |p|^2)) <= exp(a^2 / 2): z has
// the tails of a normal variable of unit variance, whatever the level and distribution of the
// noise. In the same way P(|S|^2 / sum |p_i|^2 > x) is about exp(-x). With a signal of SNR g per
// element the mean of z is 14 r g / (1 + g), r = correlation of the channel over 100 kHz (0.85 on
// typical urban).
#pragma once

#include <array>
#include <complex>

#include "phy/grid/pilots.h"
#include "phy/grid/resource_map.h"
#include "phy/math/aligned.h"

namespace wip::phy {

using slot_planes = std::array<plane, symbols_per_slot>;
using pilot_row = std::array<cf32, nof_pilots>;
inline constexpr std::size_t nof_pilot_products = nof_pilots - 2;
using pilot_products = std::array<cf32, nof_pilot_products>;
inline constexpr int pilot_distance = 10;  // subcarriers from pilot to pilot of a symbol

// Pilots of one OFDM symbol in the order of frequency: places in a pilot_row, and subcarriers.
inline constexpr std::size_t pilots_per_symbol = nof_pilots / 2;
constexpr std::size_t pilot_index(std::size_t in_symbol, bool second) {
    return in_symbol / 2 * pilots_per_bin + (second ? 2 : 0) + in_symbol % 2;
}
constexpr int pilot_subcarrier(std::size_t in_symbol, bool second) {
    return static_cast<int>(in_symbol / 2) * subcarriers_per_bin +
           pilot_elements[(second ? 2U : 0U) + in_symbol % 2].subcarrier;
}

pilot_row pilots_of(const slot_planes& y) noexcept;
// conj(v[i]) v[i+1], first those of symbol 1, then of symbol 4.
pilot_products products_of(const pilot_row& v) noexcept;

struct pilot_score {
    float magnitude = 0;
    float z = 0;
    cf32 direction{};  // S / sum |p_i|
};
// Scores received pilots; all fields are zero when the pilots are zeros or not finite. `expected`:
// d, of any size; 0 stands for 1.
pilot_score score_pilots(const pilot_row& received, const pilot_row& sent,
                         cf32 expected = 1) noexcept;

}  // namespace wip::phy
