// SPDX-License-Identifier: GPL-3.0-or-later
// Which points of a set bound the decision region of one of them. In the direction u the boundary
// lies at the distance 1 / (2 max u.w), with w = d / |d|^2 for every other point at offset d
// (half-way to each, measured along u). A linear function is largest on the convex hull: the points
// whose w lie on the hull are all that ever bound the region, eight of 255 inside 256-QAM.
#pragma once

#include <complex>
#include <cstddef>
#include <span>
#include <vector>

namespace wip {

// Indexes into `points`, ascending. Points that touch the region in nothing but a corner are
// included.
std::vector<std::size_t> bounding_points(std::span<const std::complex<double>> points,
                                         std::size_t centre);

}  // namespace wip
