// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers that a picture needs besides those of the grid.
#pragma once

#include "types/grid.h"

namespace wip::gui {

inline constexpr double subcarrier_spacing_hz = double(sample_rate_hz) / fft_size;

constexpr double seconds_of(double slots) { return slots / static_cast<double>(slots_per_second); }
constexpr double slots_of(double seconds) {
    return seconds * static_cast<double>(slots_per_second);
}
// Packet records count sample time in nanoseconds.
constexpr double slots_of_ns(std::int64_t ns) {
    return static_cast<double>(ns) * 1e-9 * static_cast<double>(slots_per_second);
}

}  // namespace wip::gui
