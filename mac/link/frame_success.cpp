// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/frame_success.h"

#include <cassert>
#include <cstddef>

#include "switch_table_values.h"  // generated

namespace wip {
namespace {

// The row of a curve. After the curves of 1..8 bits come those of 3 bits with the other
// constellations.
std::size_t row_of(int bits_per_symbol, eight_points eight) {
    assert(bits_per_symbol >= 1 && bits_per_symbol <= 8);
    return static_cast<std::size_t>(bits_per_symbol == 3 && eight != eight_points::star
                                        ? 7 + static_cast<int>(eight)
                                        : bits_per_symbol - 1);
}

}  // namespace

std::span<const double> log_symbol_errors(int bits_per_symbol, eight_points eight) noexcept {
    return log_symbol_error_values[row_of(bits_per_symbol, eight)];
}

double frame_success(int bits_per_symbol, db snr, eight_points eight) noexcept {
    const auto& curve = frame_ok_values[row_of(bits_per_symbol, eight)];
    const double x = (snr.value - frame_ok_lowest_db) / frame_ok_step_db;
    if (!(x > 0)) return curve.front();
    if (x >= static_cast<double>(curve.size() - 1)) return curve.back();
    const auto i = static_cast<std::size_t>(x);
    return curve[i] + (x - static_cast<double>(i)) * (curve[i + 1] - curve[i]);
}

}  // namespace wip
