// SPDX-License-Identifier: GPL-3.0-or-later
// A coordinate of an equalised symbol in a byte, for those who look at constellations: 1/64 of the
// root of the mean symbol energy, clipped to +-127 (almost twice that root).
#pragma once

#include <algorithm>
#include <cmath>

namespace wip {

inline constexpr float point_scale = 64;

inline char point_code(float v) {
    if (std::isnan(v)) return 0;
    return static_cast<char>(std::lround(std::clamp(v * point_scale, -127.0F, 127.0F)));
}

}  // namespace wip
