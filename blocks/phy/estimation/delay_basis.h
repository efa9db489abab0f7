// SPDX-License-Identifier: GPL-3.0-or-later
// The frequency responses that a channel of limited delay spread can have, as few numbers.
//
// A channel whose power is spread evenly over delays within +-W/2 has the covariance
// sinc(W (f - f')) over the band. Its eigenfunctions (prolate spheroidal functions: the shapes that
// a delay window W and a bandwidth B leave room for) are the basis with the fewest members: about
// W B + 1 of them hold the power, the variance of the others falls faster than exponentially. The
// members that hold all but 1e-7 of the power are kept: 5, 11, 16, 27, 42 for W = 0.2, 1, 2, 4, 7
// us.
//
// They are found in a Legendre series over x = frequency on [-1, 1], where a path of delay tau has
// the coefficients sqrt(2d+1) (-j)^d j_d(2 pi tau 2505 kHz) (j_d: spherical Bessel), whose
// covariance K, averaged over tau, is real; Jacobi's method gives its eigenvectors.
//
// Every member is even or odd over the middle of the band, as the used subcarriers are: sums over
// the band run over 250 subcarriers, with the halves added (even) or subtracted (odd) before or
// after. Mean square of a member over the band: 1 (to 1/500, because DC is left out).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "phy/math/aligned.h"

namespace wip::phy {

class delay_basis {
public:
    static constexpr int max_order = 48;

    // `at_centre`: share of the power that has no delay at all, the rest is spread evenly.
    explicit delay_basis(double spread_us, double at_centre = 0);

    int order() const noexcept { return order_; }
    // Variance of coefficient d of a channel of unit mean power; falls with d, sum 1.
    double variance(int d) const noexcept { return variance_[static_cast<std::size_t>(d)]; }
    // Value of member d on used subcarrier n.
    float at(int d, int n) const noexcept;

    template <std::size_t Terms>
    using to = std::array<plane*, Terms>;
    template <std::size_t Terms>
    using from = std::array<const plane*, Terms>;
    // out[n] = sum_d c[d] at(d, n), for the used subcarriers. Up to three at once, the coefficients
    // `stride` from each other: the members fill the first cache, so each is loaded only once.
    template <std::size_t Terms>
    void expand(const float* re, const float* im, int stride, const to<Terms>& out) const noexcept;
    // c[d] = mean over n of in[n] at(d, n). Writes order() values.
    template <std::size_t Terms>
    void project(const from<Terms>& in, float* re, float* im, int stride) const noexcept;

private:
    int order_ = 0;
    int pairs_ = 0;  // pairs of an even and an odd member; a missing one is zero
    std::vector<double> variance_;
    aligned_vector<float> half_;  // upper half of the band, row by row, even and odd in turns
    std::vector<int> row_;        // by member: its row in half_
};

}  // namespace wip::phy
