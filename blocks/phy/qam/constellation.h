// SPDX-License-Identifier: GPL-3.0-or-later
// The eight constellations, unit mean energy, and their detectors.
//
// On the integer grid of odd coordinates (then scaled to unit energy):
//   BPSK            -1, +1 on the real axis
//   4, 16, 64, 256  square; the upper half of the label is the Gray code of the real level, the
//                   lower half that of the imaginary level (level 0 = most negative)
//   32              cross: the 8 x 4 rectangle with Gray labels whose outer columns (+-7, y) move
//                   to (sign * |y|, sign(y) * 5)
//   128             cross: the 16 x 8 rectangle whose columns x = +-13, +-15 move to
//                   (sign * |y|, sign(y) * (|x| - 4))
//   8               star: (+-1, +-1) and four points on the axes at 1 + sqrt 3, every point at
//                   distance 2 from its neighbours. d_min^2 / E = 0.845 against 0.667 of the 4 x 2
//                   rectangle (1.03 dB) and 0.586 of 8-PSK (1.6 dB). Labels: the best of all 8!
//                   Other sets of 8, for the emulator: types/eight_points.h
// Mean number of bits that differ between nearest neighbours: 1 for the squares, 1.154 (32),
// 1.138 (128), 1.333 (star; its triangles forbid 1).
//
// slice() is the exact nearest point. Crosses: the square slicer is right except in the missing
// corners, where the answer is the better of the two candidates beside the corner. Star: folded
// into one octant by its symmetry, where two points remain and one straight line divides them.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "types/eight_points.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

class constellation {
public:
    // 1..8, throws std::invalid_argument. `eight`: the set of 3 bits.
    explicit constellation(int bits_per_symbol, eight_points eight = eight_points::star);

    int bits() const { return bits_; }
    // Point of each label.
    std::span<const cf32> points() const { return points_; }
    // Distance between neighbours divided by two: the unit of the integer grid.
    float unit() const { return unit_; }

    // Label of the nearest point of each of n symbols, real and imaginary parts apart.
    void slice(const float* re, const float* im, std::uint8_t* labels, int n) const noexcept;

    // The point that each label stands for. Squares: from the nearest level of re and im, which
    // must be what `labels` was sliced from (no table is read).
    void points_of(const float* re, const float* im, const std::uint8_t* labels, float* point_re,
                   float* point_im, int n) const noexcept;

    // Max-log soft bits, most significant bit first, k for each symbol: positive means 0.
    // weight[i] = 1 / noise variance of symbol i.
    void soft(const float* re, const float* im, const float* weight, float* llr,
              int n) const noexcept;

private:
    void slice_block(const float* re, const float* im, std::uint8_t* labels, int n) const noexcept;
    int bits_;
    eight_points eight_;
    float unit_;
    std::vector<cf32> points_;
    std::vector<std::uint8_t> cross_labels_;  // [real level][imaginary level], crosses only
    int cross_side_ = 0;
};

}  // namespace wip::phy
