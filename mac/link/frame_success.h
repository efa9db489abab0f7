// SPDX-License-Identifier: GPL-3.0-or-later
// P(all 108 symbols of a bin right) of k = 1..8 bits per symbol at an SNR in dB: the exact curves
// of link/symbol_error.h, computed when the project is built and kept on a grid of 0.25 dB from -20
// to 60 dB, linear in between (off by at most 0.01). Fit for the slot path, where symbol_error,
// good to 1e-4, is too slow to make.
#pragma once

#include <span>

#include "types/db.h"
#include "types/eight_points.h"

namespace wip {

// NaN counts as the lowest SNR. `eight`: the constellation for 3 bits per symbol.
double frame_success(int bits_per_symbol, db snr, eight_points eight = eight_points::star) noexcept;

// Natural logarithms of the symbol error rate, at least -300, at symbol_errors_per_db SNRs per dB
// from symbol_error_lowest on.
inline constexpr db symbol_error_lowest{-40};
inline constexpr int symbol_errors_per_db = 20;
std::span<const double> log_symbol_errors(int bits_per_symbol, eight_points eight) noexcept;

}  // namespace wip
