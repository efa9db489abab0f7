// SPDX-License-Identifier: GPL-3.0-or-later
// The mean of a function over many equally weighted points from its values at few nodes: Gauss
// quadrature for a discrete measure. With r nodes it is exact for polynomials up to degree 2r - 1,
// so that the mean of a function that is smooth between the points (a channel over the 20
// subcarriers of a bin, over the six symbols of a slot) takes three or four evaluations instead of
// 20 or 6. Orthogonal polynomials of the measure by Stieltjes' recurrence; their roots, which
// interlace from one degree to the next, are the nodes; Christoffel's numbers are the weights.
#pragma once

#include <span>
#include <vector>

namespace wip::bin_model {

struct quadrature {
    std::vector<double> nodes, weights;  // weights sum to 1
};

// 1 <= count <= number of distinct points.
quadrature discrete_gauss(std::span<const double> points, int count);

}  // namespace wip::bin_model
