// SPDX-License-Identifier: GPL-3.0-or-later
// A coordinate of an equalised symbol in a byte, for those who look at constellations: 1/64 of the
// root of the mean symbol energy, clipped to +-127 (almost twice that root).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace wip {

inline constexpr float point_scale = 64;

// Two's complement wherever it is stored: `char` has no sign on 64-bit ARM.
inline std::int8_t point_code(float v) {
    if (std::isnan(v)) return 0;
    return static_cast<std::int8_t>(std::lround(std::clamp(v * point_scale, -127.0F, 127.0F)));
}

}  // namespace wip
