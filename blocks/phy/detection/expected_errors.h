// SPDX-License-Identifier: GPL-3.0-or-later
// How many symbols of a frame are decided wrong in the mean, from the SNR of each:
//     E = sum over the symbols of N Q(sqrt(d^2 SNR / 2)),
// d: least distance of the constellation at unit energy, N: mean number of neighbours at it. Q by
// exp(-x^2 / 2) / 12 + exp(-2 x^2 / 3) / 4 (Chiani, Dardari, Simon 2003), exp to 4 %.
//
// A frame is right with the chance exp(-E): whether a second look may save it. It is taken where E,
// by the estimate, is not above most_for_hope: it makes a better channel. With two passes E is far
// too high; more than most_for_hope_twice is not worth it (256-QAM, 75 km/h: 0.6 dB).
#pragma once

#include <span>

#include "phy/coding/frame_coder.h"
#include "phy/qam/constellation.h"

namespace wip::phy {

inline constexpr float most_for_hope = 6, most_for_hope_twice = 20;

// snr[i] * scale: SNR of symbol i, linear. Of label_capacity values the last four are not symbols.
float expected_errors(const float* snr, float scale, int bits_per_symbol) noexcept;

// SNR that leaves no doubt, 5 dB above what makes 0.01 wrong symbols of a frame: the channel bends.
float clear_snr(int bits_per_symbol) noexcept;

}  // namespace wip::phy
