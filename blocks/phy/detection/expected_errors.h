// SPDX-License-Identifier: GPL-3.0-or-later
// How many symbols of a frame are decided wrong in the mean, from the SNR of each:
//     E = sum over the symbols of N Q(sqrt(d^2 SNR / 2)),
// d: least distance of the constellation at unit energy, N: mean number of neighbours at it. Q by
// exp(-x^2 / 2) / 12 + exp(-2 x^2 / 3) / 4 (Chiani, Dardari, Simon 2003), exp to 4 %.
//
// A frame whose CRC holds is right, which has the chance exp(-E), or the one wrong frame in 2^24
// that passes. CRC-24A misses no five wrong bits or fewer up to 32-QAM (test_phy_codes); more than
// five symbols are wrong in 1.7 % of the frames with E = 2 and in far fewer below. Of four wrong
// bits it misses beyond 32-QAM what would pass of 14, 23, 40 % of patterns at random, and four
// symbols are wrong in 9 % of the frames with E = 2, in 1.5 % with 1. So a frame is believed only
// where E is not above most_errors, by the spread of the frame's own symbols about the decided
// points: where many are wrong it is as wide as the cells, and no estimate of the noise can be
// wrong about it. A second look is taken where E, by the estimate, is not above most_for_hope: it
// makes a better channel. What that costs and brings: tests/bench/misdetection.cpp, docs/phy.md.
#pragma once

#include <span>

#include "phy/coding/frame_coder.h"
#include "phy/qam/constellation.h"

namespace wip::phy {

constexpr float most_errors(int bits_per_symbol) noexcept { return bits_per_symbol < 7 ? 2 : 1; }
inline constexpr float most_for_hope = 6;

// snr[i] * scale: SNR of symbol i, linear. Of label_capacity values the last four are not symbols.
float expected_errors(const float* snr, float scale, int bits_per_symbol) noexcept;

// SNR that leaves no doubt, 5 dB above what makes 0.01 wrong symbols of a frame: the channel bends.
float clear_snr(int bits_per_symbol) noexcept;

}  // namespace wip::phy
