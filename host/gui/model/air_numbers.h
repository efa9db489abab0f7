// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of the air interface that a picture needs. The window is a reader of the schema and
// of nothing else (docs/architecture.md), so they are repeated here; tests/unit/gui compares them
// with blocks/types/grid.h.
#pragma once

#include <cstdint>

namespace wip::gui {

inline constexpr int nof_bins = 25;
inline constexpr int nof_subcarriers = 500;
inline constexpr int fft_size = 768;
inline constexpr std::int64_t sample_rate_hz = 7'680'000;
inline constexpr double subcarrier_spacing_hz = 10'000;
inline constexpr std::int64_t slots_per_second = 1500;
inline constexpr int max_bits_per_symbol = 8;

constexpr double seconds_of(double slots) { return slots / static_cast<double>(slots_per_second); }
constexpr double slots_of(double seconds) {
    return seconds * static_cast<double>(slots_per_second);
}
// Packet records count sample time in nanoseconds.
constexpr double slots_of_ns(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9 * static_cast<double>(slots_per_second);
}

}  // namespace wip::gui
