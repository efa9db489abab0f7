// SPDX-License-Identifier: GPL-3.0-or-later
// Interference between subcarriers: what a channel that changes within an OFDM symbol moves from
// every subcarrier to all others.
//
// Let the channel of subcarrier m at sample i of the FFT window be h_m + s_m t_i, where t_i is the
// time from the window's middle to the sample, in OFDM symbols. The FFT then sees on subcarrier k
//     h_k x_k + sum_m s_m x_m (1/768) sum_i t_i exp(j 2 pi (m - k) i / 768).
// The window begins window_advance samples before the useful part; spectra are those of a window
// that begins with it (slot_extractor takes the difference out). So the inner sum is
//     -j exp(j p (m - k)) g(m - k), p = -2 pi (window_advance + 1/2) / 768,
//     g(d) = (768/853.3) / (2 * 768 sin(pi d / 768)), an odd function.
// So with spectra turned by p a subcarrier it is a real filter. It falls only with 1/d: 7 % of its
// power comes from more than eight subcarriers away, and the strong part of the band reaches a
// faded bin from far. So the whole filter is computed, by recursion: g(1) exactly, beyond it five
// exponentials, which miss 6e-6 of its power. They run up and down the band, for all symbols at
// once: the twelve parts of six complex values lie side by side.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "phy/math/aligned.h"
#include "types/grid.h"

namespace wip::phy {

using bin_set = std::bitset<nof_bins>;
inline constexpr bin_set all_bins{(1U << nof_bins) - 1};

class intercarrier {
public:
    using grid = std::array<plane, symbols_per_slot>;
    intercarrier();
    // out: the interference on each element of these bins of a slot. Other bins are unchanged or
    // computed as well. The channel's slope is b + 2 t c, t the symbol_time. Beyond the band all
    // planes are zero.
    void work(const plane& b, const plane& c, const grid& x, grid& out,
              const bin_set& bins = all_bins) noexcept;

private:
    void turn_and_transpose(const plane& b, const plane& c, const grid& x) noexcept;
    void filter() noexcept;
    void transpose_and_turn_back(grid& out) noexcept;
    bool is_wanted(std::size_t block) const noexcept { return blocks_ >> block & 1; }
    std::uint32_t blocks_ = 0;  // blocks of subcarriers that hold the bins
    plane turn_;
    // A row for each subcarrier, DC among them: real parts, imaginary parts, padding.
    aligned_vector<float> rows_in_, rows_out_;
};

}  // namespace wip::phy
