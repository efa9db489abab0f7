// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/delay_basis.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "phy/grid/resource_map.h"
#include "types/lanes.h"

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

// K of the header. A path without delay is the first Legendre polynomial alone.
Eigen::MatrixXd delay_covariance(double spread_us, double at_centre, int n) {
    Eigen::MatrixXd k = Eigen::MatrixXd::Zero(n, n);
    constexpr int points = 200;
    Eigen::VectorXd bessel(n);
    for (int i = 0; i < points; ++i) {
        const double tau = spread_us * 1e-6 / 2 * (i + 0.5) / points;
        const double kappa = 2 * std::numbers::pi * tau * 10e3 * 250.5;
        for (int d = 0; d < n; ++d)
            bessel[d] = std::sqrt(2.0 * d + 1) * std::sph_bessel(static_cast<unsigned>(d), kappa);
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
    int parity;  // of its degrees
    Eigen::VectorXd weights;
};

// Eigenvectors of K, the strongest first. Even and odd degrees never mix, so each has its own.
std::vector<member> members_of(const Eigen::MatrixXd& k) {
    const int n = static_cast<int>(k.rows());
    std::vector<member> all;
    for (int parity : {0, 1}) {
        const auto degrees = Eigen::seq(parity, n - 1, 2);
        const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> own(k(degrees, degrees));
        for (int i = 0; i < own.eigenvalues().size(); ++i) {
            Eigen::VectorXd weights = Eigen::VectorXd::Zero(n);
            weights(degrees) = own.eigenvectors().col(i);
            all.push_back({own.eigenvalues()[i], parity, weights});
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
    // Of a wide spread the first variances are equal to within rounding, and any rotation among
    // their members would do: this one has low degrees first, whatever the rounding.
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

void delay_basis::expand(const float* re, const float* im, plane& out) const noexcept {
    // By row: zero where there is no member.
    float cr[max_order + 2] = {};
    float ci[max_order + 2] = {};
    for (int d = 0; d < order_; ++d) {
        cr[row_[static_cast<std::size_t>(d)]] = re[d];
        ci[row_[static_cast<std::size_t>(d)]] = im[d];
    }
    alignas(vector_alignment) float sum[4][half_padded];  // re, im of upper half; of lower half
    for (int c = 0; c < half_padded; c += 2 * nof_lanes) {
        lanes e0r{}, e0i{}, o0r{}, o0i{}, e1r{}, e1i{}, o1r{}, o1i{};
        const float* q = half_.data() + c;
        for (int i = 0; i < pairs_; ++i, q += 2 * half_padded) {
            const auto* even = reinterpret_cast<const lanes*>(q);
            const auto* odd = reinterpret_cast<const lanes*>(q + half_padded);
            e0r += even[0] * cr[2 * i];
            e0i += even[0] * ci[2 * i];
            e1r += even[1] * cr[2 * i];
            e1i += even[1] * ci[2 * i];
            o0r += odd[0] * cr[2 * i + 1];
            o0i += odd[0] * ci[2 * i + 1];
            o1r += odd[1] * cr[2 * i + 1];
            o1i += odd[1] * ci[2 * i + 1];
        }
        const auto store = [&](int part, lanes a, lanes b) {
            auto* to = reinterpret_cast<lanes*>(sum[part] + c);
            to[0] = a;
            to[1] = b;
        };
        store(0, e0r + o0r, e1r + o1r);
        store(1, e0i + o0i, e1i + o1i);
        store(2, e0r - o0r, e1r - o1r);
        store(3, e0i - o0i, e1i - o1i);
    }
    for (int c = 0; c < half_band; ++c) {
        out.re[half_band + c] = sum[0][c];
        out.im[half_band + c] = sum[1][c];
    }
    for (int n = 0; n < half_band; ++n) {
        out.re[n] = sum[2][half_band - 1 - n];
        out.im[n] = sum[3][half_band - 1 - n];
    }
}

void delay_basis::project(const plane& in, float* re, float* im) const noexcept {
    alignas(vector_alignment) float fold[4][half_padded] = {};  // even re, im; odd re, im
    for (int c = 0; c < half_band; ++c) {
        const float ur = in.re[half_band + c];
        const float ui = in.im[half_band + c];
        const float lr = in.re[half_band - 1 - c];
        const float li = in.im[half_band - 1 - c];
        fold[0][c] = ur + lr;
        fold[1][c] = ui + li;
        fold[2][c] = ur - lr;
        fold[3][c] = ui - li;
    }
    for (int d = 0; d < order_; ++d) {
        const int row = row_[static_cast<std::size_t>(d)];
        const auto* q = reinterpret_cast<const lanes*>(half_.data() + row * half_padded);
        const auto* fr = reinterpret_cast<const lanes*>(fold[row % 2 * 2]);
        const auto* fi = reinterpret_cast<const lanes*>(fold[row % 2 * 2 + 1]);
        lanes sr{}, si{};
        for (int i = 0; i < half_padded / nof_lanes; ++i) {
            sr += q[i] * fr[i];
            si += q[i] * fi[i];
        }
        re[d] = sum_of(sr) / nof_subcarriers;
        im[d] = sum_of(si) / nof_subcarriers;
    }
}

}  // namespace wip::phy
