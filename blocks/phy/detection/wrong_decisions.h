// SPDX-License-Identifier: GPL-3.0-or-later
// The expected number of symbols of a frame that are decided wrong, given where the received
// symbols lie. On each axis of the grid the neighbour is g = exp(-4 d SNR) times as likely as the
// decided point, d and 1 / SNR in half distances between points, d: to the boundary; so the
// decision is wrong with g / (1 + g). The weights say how the SNRs of the symbols differ; the noise
// is the spread of the frame's own symbols about the decided points: where many are wrong it is as
// wide as the cells, and no estimate of the noise can be wrong about it. The star is no grid: for
// it the number is that expected at this SNR (expected_errors.h).
//
// It decides whether a frame is accepted. A frame whose CRC holds is right, or it is one of the
// wrong frames, of which one in 2^24 passes. CRC-24A misses no five wrong bits or fewer up to
// 32-QAM (test_phy_codes), of four beyond it what would pass of 14, 23, 40 % of patterns at random:
// hence limits, with which tests/bench/misdetection.cpp finds below one a day. If the expected
// errors at the SNR alone decided, two or three times as many right frames would be refused for as
// few wrong ones accepted, since they do not tell whether a frame has more or fewer errors than the
// mean.
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

// `labels`: the constellation's decisions on the symbols.
float wrong_decisions(const constellation& points, const soft_copy& symbols,
                      const label_array& labels) noexcept;

}  // namespace wip::phy
