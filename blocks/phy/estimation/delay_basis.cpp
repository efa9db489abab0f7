// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/delay_basis.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "phy/grid/resource_map.h"
#include "phy/math/lanes.h"

namespace wip::phy {

namespace {

constexpr int half_band = nof_subcarriers / 2;
constexpr int half_padded = 256;
constexpr double negligible = 1e-7;

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
std::vector<double> delay_covariance(double spread_us, double at_centre, std::size_t n) {
    std::vector<double> k(n * n, 0.0);
    constexpr int points = 200;
    std::vector<double> bessel(n);
    for (int i = 0; i < points; ++i) {
        const double tau = spread_us * 1e-6 / 2 * (i + 0.5) / points;
        const double kappa = 2 * std::numbers::pi * tau * 10e3 * 250.5;
        for (std::size_t d = 0; d < n; ++d)
            bessel[d] = std::sqrt(2.0 * static_cast<double>(d) + 1) *
                        std::sph_bessel(static_cast<unsigned>(d), kappa);
        for (std::size_t d = 0; d < n; ++d)
            for (std::size_t e = d % 2; e < n; e += 2) {
                const double sign = (d + 3 * e) / 2 % 2 == 0 ? 1 : -1;
                k[d * n + e] += (1 - at_centre) * sign * bessel[d] * bessel[e] / points;
            }
    }
    k[0] += at_centre;
    return k;
}

// Eigenvectors (columns of v) of the symmetric a, whose diagonal becomes the eigenvalues. Elements
// that are zero stay zero, so even and odd degrees never mix.
void jacobi(std::vector<double>& a, std::vector<double>& v, std::size_t n) {
    v.assign(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) v[i * n + i] = 1;
    for (int sweep = 0; sweep < 30; ++sweep) {
        double largest = 0;
        for (std::size_t p = 0; p < n; ++p)
            for (std::size_t q = p + 1; q < n; ++q) {
                const double apq = a[p * n + q];
                largest = std::max(largest, std::abs(apq));
                if (std::abs(apq) < 1e-16) continue;
                const double theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
                const double t =
                    std::copysign(1.0, theta) / (std::abs(theta) + std::sqrt(theta * theta + 1));
                const double c = 1 / std::sqrt(t * t + 1);
                const double s = t * c;
                for (std::size_t i = 0; i < n; ++i) {
                    const double x = a[i * n + p];
                    const double y = a[i * n + q];
                    a[i * n + p] = c * x - s * y;
                    a[i * n + q] = s * x + c * y;
                }
                for (std::size_t i = 0; i < n; ++i) {
                    const double x = a[p * n + i];
                    const double y = a[q * n + i];
                    a[p * n + i] = c * x - s * y;
                    a[q * n + i] = s * x + c * y;
                    const double vx = v[i * n + p];
                    const double vy = v[i * n + q];
                    v[i * n + p] = c * vx - s * vy;
                    v[i * n + q] = s * vx + c * vy;
                }
            }
        if (largest < 1e-14) return;
    }
}

}  // namespace

delay_basis::delay_basis(double spread_us, double at_centre) {
    // Degrees beyond 2 pi (W/2) 2505 kHz die out faster than exponentially.
    const auto n = static_cast<std::size_t>(std::ceil(7.87 * spread_us)) + 14;
    auto k = delay_covariance(spread_us, at_centre, n);
    std::vector<double> v;
    jacobi(k, v, n);
    std::vector<std::size_t> sorted(n);
    std::iota(sorted.begin(), sorted.end(), std::size_t{0});
    std::sort(sorted.begin(), sorted.end(),
              [&](auto a, auto b) { return k[a * n + a] > k[b * n + b]; });
    double rest = 0;
    for (std::size_t i = 0; i < n; ++i) rest += k[i * n + i];
    int even = 0;
    int odd = 0;
    for (const auto i : sorted) {
        const double variance = k[i * n + i];
        if (rest < negligible || order_ == max_order) break;
        rest -= variance;
        // The largest element tells whether the column is of even or odd degrees.
        std::size_t most = 0;
        for (std::size_t d = 1; d < n; ++d)
            if (std::abs(v[d * n + i]) > std::abs(v[most * n + i])) most = d;
        row_.push_back(most % 2 == 0 ? 2 * even++ : 2 * odd++ + 1);
        variance_.push_back(variance);
        ++order_;
    }
    pairs_ = std::max(even, odd);
    half_.assign(static_cast<std::size_t>(2 * pairs_ * half_padded), 0.F);
    std::vector<double> p(n);
    for (int c = 0; c < half_band; ++c) {
        legendre(signed_subcarrier(half_band + c) / 250.5, n, p.data());
        for (int m = 0; m < order_; ++m) {
            double sum = 0;
            for (std::size_t d = 0; d < n; ++d)
                sum += v[d * n + sorted[static_cast<std::size_t>(m)]] * p[d];
            half_[static_cast<std::size_t>(row_[static_cast<std::size_t>(m)] * half_padded + c)] =
                static_cast<float>(sum);
        }
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
