// SPDX-License-Identifier: GPL-3.0-or-later
// The sets of eight points that "8-QAM" can mean. The radio sends the star; the literature says
// "cross 8-QAM" without giving the points, so the emulator offers all three. On the integer grid,
// with the least distance squared over the mean energy:
//   star       (+-1, +-1) and the axes at 1 + sqrt 3   0.845
//   cross      (+-1, +-1) and the axes at 3            0.727
//   rectangle  4 x 2                                   0.667
#pragma once

#include <cstdint>

namespace wip {

enum class eight_points : std::uint8_t { star, cross, rectangle };

// Distance of the points on the axes from the origin; star and cross only.
constexpr double axis_radius(eight_points set) {
    return set == eight_points::cross ? 3.0 : 2.732050807568877;
}

}  // namespace wip
