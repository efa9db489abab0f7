// SPDX-License-Identifier: GPL-3.0-or-later
// How many symbols of a frame are decided wrong, in the mean of what can have been sent, given
// where the received ones lie. On each axis of the grid the neighbour is g = exp(-4 d SNR) times as
// likely as the decided point, d and 1 / SNR in half distances between points, d: to the boundary;
// so the decision is wrong with g / (1 + g). The weights say how the SNRs of the symbols differ;
// the noise is the spread of the frame's own symbols about the decided points: where many are wrong
// it is as wide as the cells, and no estimate of the noise can be wrong about it. The star is no
// grid: its number is what that SNR lets expect (expected_errors.h).
//
// It decides whether a frame is accepted. One whose CRC holds is right, or one of the wrong frames
// of which one in 2^24 passes. CRC-24A misses no five wrong bits or fewer up to 32-QAM
// (test_phy_codes), of four beyond it what would pass of 14, 23, 40 % of patterns at random: hence
// limits, with which tests/bench/misdetection.cpp finds below one a day. With what the SNR lets
// expect alone two or three times as many right frames are refused for as few wrong ones accepted:
// it does not know on which side of the mean a frame is.
#pragma once

#include <array>
#include <cstddef>

#include "phy/coding/frame_coder.h"
#include "phy/detection/combining_store.h"
#include "phy/qam/constellation.h"

namespace wip::phy {

constexpr float most_wrong(int bits_per_symbol) noexcept {
    constexpr std::array<float, max_bits_per_symbol> most{2, 2.4F, 2, 2.4F, 2, 2, 1.3F, 1.3F};
    return most[static_cast<std::size_t>(bits_per_symbol - 1)];
}

// `labels`: what the constellation's slicer makes of the symbols.
float wrong_decisions(const constellation& points, const soft_copy& symbols,
                      const label_array& labels) noexcept;

}  // namespace wip::phy
