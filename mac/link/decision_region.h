// SPDX-License-Identifier: GPL-3.0-or-later
// Which points of a set bound the decision region of one of them. Towards the direction u the
// border lies at the distance 1 / (2 max u.w), w = d / |d|^2 over the other points at distance d
// (half-way to each, measured along u). A linear function is largest on the convex hull: the points
// whose w lie on the hull are all that ever bound the region, eight of 255 inside 256-QAM.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace wip {

// Indexes into `points`, ascending. Points of equal claim (a corner of the region) are all there.
std::vector<std::size_t> bounding_points(std::span<const std::complex<double>> points,
                                         std::size_t of);

}  // namespace wip
