// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/delay_basis.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "phy/grid/resource_map.h"
#include "phy/math/symmetric_eigen.h"
#include "types/multiply_add.h"

namespace wip::phy {

namespace {

constexpr int half_band = nof_subcarriers / 2;
constexpr int half_padded = 256;
constexpr double negligible = 1e-7;
constexpr double tie_break = 1e-8;

// Normalised Legendre polynomials of degree 0..order-1: mean square 1 over [-1, 1].
void legendre(double x, std::size_t order, double* out) {
    double before = 0;
    double now = 1;
    for (std::size_t i = 0; i < order; ++i) {
        const auto d = static_cast<double>(i);
        out[i] = now * std::sqrt(2 * d + 1);
        const double next = ((2 * d + 1) * x * now - d * before) / (d + 1);
        before = now;
        now = next;
    }
}

// Spherical Bessel functions of order 0 .. n-1. The recursion downwards is stable, and from where
// the function is next to nothing it gives each order but for one common factor, for which the sum
// of (2 d + 1) j_d^2 is 1. Nothing but additions, products, quotients and a root: these are exact
// to the last bit with every compiler and library, and the eigenvectors of K amplify last bits.
void spherical_bessel(double x, int n, double* out) {
    constexpr double large = 1e100;
    const int from = std::max(n, static_cast<int>(x)) + 40;
    double above = 0, now = 1, sum = 0;
    std::fill_n(out, n, 0.0);
    for (int d = from; d >= 0; --d) {
        if (d < n) out[d] = now;
        sum += (2 * d + 1) * now * now;
        const double below = (2 * d + 1) / x * now - above;
        above = now;
        now = below;
        if (std::abs(now) < large) continue;
        above /= large;
        now /= large;
        sum = sum / large / large;
        for (int e = d; e < n; ++e) out[e] /= large;
    }
    for (int d = 0; d < n; ++d) out[d] /= std::sqrt(sum);
}

// K of the header. A path without delay is the first Legendre polynomial alone.
Eigen::MatrixXd delay_covariance(double spread_us, double at_centre, int n) {
    Eigen::MatrixXd k = Eigen::MatrixXd::Zero(n, n);
    constexpr int points = 200;
    Eigen::VectorXd bessel(n);
    for (int i = 0; i < points; ++i) {
        const double tau = spread_us * 1e-6 / 2 * (i + 0.5) / points;
        const double kappa = 2 * std::numbers::pi * tau * 10e3 * 250.5;
        spherical_bessel(kappa, n, bessel.data());
        for (int d = 0; d < n; ++d) bessel[d] *= std::sqrt(2.0 * d + 1);
        for (int d = 0; d < n; ++d)
            for (int e = d % 2; e < n; e += 2) {
                const double sign = (d + 3 * e) / 2 % 2 == 0 ? 1 : -1;
                k(d, e) += (1 - at_centre) * sign * bessel[d] * bessel[e] / points;
            }
    }
    k(0, 0) += at_centre;
    return k;
}

struct member {
    double variance;
    int parity;  // parity of its degrees
    Eigen::VectorXd weights;
};

// Eigenvectors of K, the strongest first. Even and odd degrees never mix, so each has its own.
std::vector<member> members_of(const Eigen::MatrixXd& k) {
    const int n = static_cast<int>(k.rows());
    std::vector<member> all;
    for (int parity : {0, 1}) {
        const auto degrees = Eigen::seq(parity, n - 1, 2);
        const auto [values, vectors] = eigen_of(k(degrees, degrees));
        for (int i = 0; i < values.size(); ++i) {
            Eigen::VectorXd weights = Eigen::VectorXd::Zero(n);
            weights(degrees) = vectors.col(i);
            all.push_back({values[i], parity, weights});
        }
    }
    std::ranges::sort(all, std::greater{}, &member::variance);
    return all;
}

}  // namespace

delay_basis::delay_basis(double spread_us, double at_centre) {
    // Degrees beyond 2 pi (W/2) 2505 kHz die out faster than exponentially.
    const int n = static_cast<int>(std::ceil(7.87 * spread_us)) + 14;
    auto k = delay_covariance(spread_us, at_centre, n);
    // If the spread is wide, the first variances are equal to within rounding, and any rotation
    // among their members would do: this term puts low degrees first, whatever the rounding.
    for (int d = 0; d < n; ++d) k(d, d) -= tie_break * d / n;
    const auto members = members_of(k);
    double rest = k.trace();
    int even = 0;
    int odd = 0;
    for (const auto& m : members) {
        if (rest < negligible || order_ == max_order) break;
        rest -= m.variance;
        row_.push_back(m.parity == 0 ? 2 * even++ : 2 * odd++ + 1);
        variance_.push_back(m.variance);
        ++order_;
    }
    pairs_ = std::max(even, odd);
    half_.assign(static_cast<std::size_t>(2 * pairs_ * half_padded), 0.F);
    Eigen::VectorXd p(n);
    for (int c = 0; c < half_band; ++c) {
        legendre(signed_subcarrier(half_band + c) / 250.5, static_cast<std::size_t>(n), p.data());
        for (int m = 0; m < order_; ++m)
            half_[static_cast<std::size_t>(row_[static_cast<std::size_t>(m)] * half_padded + c)] =
                static_cast<float>(members[static_cast<std::size_t>(m)].weights.dot(p));
    }
}

float delay_basis::at(int d, int n) const noexcept {
    const int row = row_[static_cast<std::size_t>(d)];
    const int c = n >= half_band ? n - half_band : half_band - 1 - n;
    const float v = half_[static_cast<std::size_t>(row * half_padded + c)];
    return n < half_band && row % 2 != 0 ? -v : v;
}

template <std::size_t Terms>
void delay_basis::expand(const float* re, const float* im, int stride,
                         const to<Terms>& out) const noexcept {
    constexpr std::size_t n = 2 * Terms;  // real parts and imaginary parts in turns
    float by_row[n][max_order + 2] = {};  // zero where there is no member
    for (std::size_t t = 0; t < Terms; ++t, re += stride, im += stride)
        for (int d = 0; d < order_; ++d) {
            by_row[2 * t][row_[static_cast<std::size_t>(d)]] = re[d];
            by_row[2 * t + 1][row_[static_cast<std::size_t>(d)]] = im[d];
        }
    alignas(vector_alignment) float upper[n][half_padded], lower[n][half_padded];
    for (int c = 0; c < half_padded; c += nof_lanes) {
        lanes even[n]{}, odd[n]{};
        const float* q = half_.data() + c;
        for (int i = 0; i < pairs_; ++i, q += 2 * half_padded) {
            const lanes e = *reinterpret_cast<const lanes*>(q);
            const lanes o = *reinterpret_cast<const lanes*>(q + half_padded);
            for (std::size_t k = 0; k < n; ++k) {
                even[k] = multiply_add(e, by_row[k][2 * i], even[k]);
                odd[k] = multiply_add(o, by_row[k][2 * i + 1], odd[k]);
            }
        }
        for (std::size_t k = 0; k < n; ++k) {
            *reinterpret_cast<lanes*>(upper[k] + c) = even[k] + odd[k];
            *reinterpret_cast<lanes*>(lower[k] + c) = even[k] - odd[k];
        }
    }
    for (std::size_t k = 0; k < n; ++k) {
        float* band = k % 2 == 0 ? out[k / 2]->re : out[k / 2]->im;
        for (int c = 0; c < half_band; ++c) band[half_band + c] = upper[k][c];
        for (int c = 0; c < half_band; ++c) band[c] = lower[k][half_band - 1 - c];
    }
}

template <std::size_t Terms>
void delay_basis::project(const from<Terms>& in, float* re, float* im, int stride) const noexcept {
    constexpr std::size_t n = 2 * Terms;
    alignas(vector_alignment) float fold[2][n][half_padded];  // even, odd
    for (std::size_t k = 0; k < n; ++k) {
        const float* band = k % 2 == 0 ? in[k / 2]->re : in[k / 2]->im;
        for (int c = 0; c < half_band; ++c) {
            fold[0][k][c] = band[half_band + c] + band[half_band - 1 - c];
            fold[1][k][c] = band[half_band + c] - band[half_band - 1 - c];
        }
        for (int c = half_band; c < half_padded; ++c) fold[0][k][c] = fold[1][k][c] = 0;
    }
    for (int d = 0; d < order_; ++d) {
        const int row = row_[static_cast<std::size_t>(d)];
        const float* q = half_.data() + row * half_padded;
        lanes sum[n]{};
        for (int c = 0; c < half_padded; c += nof_lanes)
            for (std::size_t k = 0; k < n; ++k)
                sum[k] =
                    multiply_add(*reinterpret_cast<const lanes*>(q + c),
                                 *reinterpret_cast<const lanes*>(fold[row % 2][k] + c), sum[k]);
        for (std::size_t k = 0; k < n; ++k)
            (k % 2 == 0 ? re : im)[static_cast<int>(k / 2) * stride + d] =
                sum_of(sum[k]) / nof_subcarriers;
    }
}

template void delay_basis::expand(const float*, const float*, int, const to<1>&) const noexcept;
template void delay_basis::project(const from<1>&, float*, float*, int) const noexcept;
template void delay_basis::expand(const float*, const float*, int, const to<2>&) const noexcept;
template void delay_basis::project(const from<2>&, float*, float*, int) const noexcept;
template void delay_basis::expand(const float*, const float*, int, const to<3>&) const noexcept;
template void delay_basis::project(const from<3>&, float*, float*, int) const noexcept;

}  // namespace wip::phy
