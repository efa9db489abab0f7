// SPDX-License-Identifier: GPL-3.0-or-later
// The expected number of symbols of a frame that are decided wrong, from the SNR of each:
//     E = sum over the symbols of N Q(sqrt(d^2 SNR / 2)),
// d: least distance of the constellation at unit energy, N: mean number of neighbours at it. Q by
// exp(-x^2 / 2) / 12 + exp(-2 x^2 / 3) / 4 (Chiani, Dardari, Simon 2003), exp to 4 %.
//
// A frame is right with the probability exp(-E), which tells whether a second pass may save it. A
// frame is detected again if E, by the first channel estimate, is not above most_for_hope, since
// the estimate of the second pass is better. With two further passes E overestimates the errors by
// far, and the limit is most_for_hope_twice; more is not worth it (256-QAM, 75 km/h: 0.6 dB).
#pragma once

#include <span>

#include "phy/coding/frame_coder.h"
#include "phy/qam/constellation.h"

namespace wip::phy {

inline constexpr float most_for_hope = 6, most_for_hope_twice = 20;

// snr[i] * scale: SNR of symbol i, linear. Of label_capacity values the last four are not symbols.
float expected_errors(const float* snr, float scale, int bits_per_symbol) noexcept;

// SNR at which no symbol of a frame is expected to be wrong: 5 dB above that of 0.01 wrong symbols,
// a margin for the curvature of the channel.
float clear_snr(int bits_per_symbol) noexcept;

}  // namespace wip::phy
