// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/channel_estimator.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/cholesky.h"

namespace wip::phy {

namespace {

constexpr std::array<double, 5> spreads_us{0.2, 1, 2, 4, 7};
constexpr std::array<int, 5> orders{5, 14, 23, 40, 66};
constexpr double slope_power = 0.003;
constexpr double snr_step_db = 6;

double position(int n) { return signed_subcarrier(n) / 250.5; }

// Normalised Legendre polynomials of degree 0..order-1: mean square 1 over [-1, 1].
void legendre(double x, int order, double* out) {
    double before = 0;
    double now = 1;
    for (int d = 0; d < order; ++d) {
        out[d] = now * std::sqrt(2.0 * d + 1);
        const double next = ((2 * d + 1) * x * now - d * before) / (d + 1);
        before = now;
        now = next;
    }
}

// K of the header, plus a floor that keeps it invertible.
std::vector<double> delay_covariance(double spread_us, int order) {
    const auto n = static_cast<std::size_t>(order);
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
                k[d * n + e] += sign * bessel[d] * bessel[e] / points;
            }
    }
    for (std::size_t d = 0; d < n; ++d) k[d * n + d] += 1e-7;
    return k;
}

typedef float lanes __attribute__((vector_size(64)));
constexpr int nof_lanes = 16;
static_assert(plane_size % nof_lanes == 0);
constexpr int used = (nof_subcarriers + nof_lanes - 1) / nof_lanes * nof_lanes;

}  // namespace

channel_estimator::channel_estimator()
    : basis_(static_cast<std::size_t>(max_order) * plane_size, 0.F) {
    for (int n = 0; n < nof_subcarriers; ++n) {
        double p[max_order];
        legendre(position(n), max_order, p);
        for (int d = 0; d < max_order; ++d)
            basis_[static_cast<std::size_t>(d * plane_size + n)] = static_cast<float>(p[d]);
    }
    for (int l = 0; l < symbols_per_slot; ++l)
        for (int b = 0; b < nof_bins; ++b)
            for (int c = 0; c < subcarriers_per_bin; ++c) {
                const auto kind = kind_of(l, c);
                if (kind == re_kind::payload) continue;
                element e{l, b * subcarriers_per_bin + c, kind == re_kind::pilot, 0,
                          symbol_time(l)};
                const auto find = [&](const auto& list) {
                    for (std::size_t i = 0; i < list.size(); ++i)
                        if (list[i].symbol == l && list[i].subcarrier == c)
                            e.index = b * static_cast<int>(list.size()) + static_cast<int>(i);
                };
                if (e.pilot)
                    find(pilot_elements);
                else
                    find(control_elements);
                all_.elements.push_back(e);
                if (e.pilot) pilots_.elements.push_back(e);
            }
    design(pilots_);
    design(all_);
}

void channel_estimator::design(side& s) {
    const std::size_t known = s.elements.size();
    s.padded = (static_cast<int>(known) + nof_lanes - 1) / nof_lanes * nof_lanes;
    for (std::size_t w = 0; w < nof_spreads; ++w) {
        const auto order = static_cast<std::size_t>(orders[w]);
        const std::size_t n = 2 * order;
        const auto k = delay_covariance(spreads_us[w], orders[w]);
        // Inverse of K, column by column.
        auto l = k;
        cholesky<double>(l, order);
        std::vector<double> inverse(order * order);
        for (std::size_t c = 0; c < order; ++c) {
            std::vector<double> e(order, 0.0);
            e[c] = 1;
            cholesky_solve<double>(l, order, e);
            for (std::size_t r = 0; r < order; ++r) inverse[r * order + c] = e[r];
        }
        std::vector<double> x(known * n);
        for (std::size_t r = 0; r < known; ++r) {
            legendre(position(s.elements[r].n), orders[w], x.data() + r * n);
            for (std::size_t d = 0; d < order; ++d)
                x[r * n + order + d] = x[r * n + d] * static_cast<double>(s.elements[r].time);
        }
        std::vector<double> gram(n * n, 0.0);
        for (std::size_t r = 0; r < known; ++r)
            for (std::size_t i = 0; i < n; ++i)
                for (std::size_t j = 0; j <= i; ++j) gram[i * n + j] += x[r * n + i] * x[r * n + j];
        for (std::size_t step = 0; step < nof_snrs; ++step) {
            const double noise = std::pow(10, -snr_step_db * static_cast<double>(step) / 10);
            auto a = gram;
            for (std::size_t i = 0; i < order; ++i)
                for (std::size_t j = 0; j <= i; ++j) {
                    a[i * n + j] += noise * inverse[i * order + j];
                    a[(order + i) * n + order + j] += noise / slope_power * inverse[i * order + j];
                }
            cholesky<double>(a, n);
            auto& f = s.filters[w][step];
            f.matrix.assign(n * static_cast<std::size_t>(s.padded), 0.F);
            std::vector<double> column(n);
            double dof = 0;
            for (std::size_t r = 0; r < known; ++r) {
                std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(r * n), n, column.begin());
                cholesky_solve<double>(a, n, column);
                for (std::size_t i = 0; i < n; ++i) {
                    f.matrix[i * static_cast<std::size_t>(s.padded) + r] =
                        static_cast<float>(column[i]);
                    dof += column[i] * x[r * n + i];
                }
            }
            f.dof = static_cast<float>(dof);
        }
    }
}

void channel_estimator::load(const side& s, const std::array<plane, symbols_per_slot>& y,
                             const cf32* pilot_values, const cf32* control_values) noexcept {
    for (std::size_t r = 0; r < s.elements.size(); ++r) {
        const auto& e = s.elements[r];
        const cf32 x = e.pilot ? pilot_values[e.index] : control_values[e.index];
        const auto& p = y[static_cast<std::size_t>(e.symbol)];
        const cf32 z = cf32(p.re[e.n], p.im[e.n]) * std::conj(x);
        z_.re[r] = z.real();
        z_.im[r] = z.imag();
    }
    for (std::size_t r = s.elements.size(); r < static_cast<std::size_t>(s.padded); ++r)
        z_.re[r] = z_.im[r] = 0;
}

void channel_estimator::apply(const side& s, int spread, int snr_step) noexcept {
    const int order = orders[static_cast<std::size_t>(spread)];
    const auto& f = s.filters[static_cast<std::size_t>(spread)][static_cast<std::size_t>(snr_step)];
    const int blocks = s.padded / nof_lanes;
    const auto* zr = reinterpret_cast<const lanes*>(z_.re);
    const auto* zi = reinterpret_cast<const lanes*>(z_.im);
    for (int row = 0; row < 2 * order; ++row) {
        const auto* m = reinterpret_cast<const lanes*>(f.matrix.data() + row * s.padded);
        lanes re{}, im{};
        for (int b = 0; b < blocks; ++b) {
            re += m[b] * zr[b];
            im += m[b] * zi[b];
        }
        float sum_re = 0, sum_im = 0;
        for (int i = 0; i < nof_lanes; ++i) {
            sum_re += re[i];
            sum_im += im[i];
        }
        const int part = row < order ? 0 : 2;
        const int d = row < order ? row : row - order;
        coefficients_[static_cast<std::size_t>(part * max_order + d)] = sum_re;
        coefficients_[static_cast<std::size_t>((part + 1) * max_order + d)] = sum_im;
    }
}

void channel_estimator::expand(int order, channel_estimate& out) const noexcept {
    const float* c = coefficients_.data();
    for (int n = 0; n < used; n += nof_lanes) {
        lanes ar{}, ai{}, br{}, bi{};
        for (int d = 0; d < order; ++d) {
            const auto q = *reinterpret_cast<const lanes*>(basis_.data() + d * plane_size + n);
            ar += q * c[d];
            ai += q * c[max_order + d];
            br += q * c[2 * max_order + d];
            bi += q * c[3 * max_order + d];
        }
        *reinterpret_cast<lanes*>(out.middle.re + n) = ar;
        *reinterpret_cast<lanes*>(out.middle.im + n) = ai;
        *reinterpret_cast<lanes*>(out.slope.re + n) = br;
        *reinterpret_cast<lanes*>(out.slope.im + n) = bi;
    }
}

// Sum of squared residuals on the known elements in z_.
float channel_estimator::residual(const side& s, const channel_estimate& e) const noexcept {
    float rss = 0;
    for (std::size_t r = 0; r < s.elements.size(); ++r) {
        const auto& k = s.elements[r];
        const float dr = z_.re[r] - e.middle.re[k.n] - k.time * e.slope.re[k.n];
        const float di = z_.im[r] - e.middle.im[k.n] - k.time * e.slope.im[k.n];
        rss += dr * dr + di * di;
    }
    return rss;
}

namespace {
int step_of(float snr) {
    if (!(snr > 1)) return 0;
    return std::clamp(static_cast<int>(std::lround(10 * std::log10(snr) / snr_step_db)), 0, 7);
}
}  // namespace

void channel_estimator::from_pilots(const std::array<plane, symbols_per_slot>& y,
                                    const cf32* pilot_values, float snr,
                                    channel_estimate& out) noexcept {
    const int step = step_of(snr);
    load(pilots_, y, pilot_values, nullptr);
    apply(pilots_, spread_, step);
    expand(orders[static_cast<std::size_t>(spread_)], out);
    const float dof =
        pilots_.filters[static_cast<std::size_t>(spread_)][static_cast<std::size_t>(step)].dof;
    out.noise = residual(pilots_, out) / (nof_pilots - dof);
    out.error = dof / nof_pilots;
}

void channel_estimator::from_all(const std::array<plane, symbols_per_slot>& y,
                                 const cf32* pilot_values, const cf32* control_values, float snr,
                                 channel_estimate& out) noexcept {
    const int step = step_of(snr);
    load(all_, y, pilot_values, control_values);
    apply(all_, spread_, step);
    expand(orders[static_cast<std::size_t>(spread_)], out);
    const float dof =
        all_.filters[static_cast<std::size_t>(spread_)][static_cast<std::size_t>(step)].dof;
    const float rss = residual(all_, out);
    out.noise = rss / (nof_known - dof);
    out.error = dof / nof_known;
    const float open = 1 - dof / nof_known;
    consider_spread(rss / (nof_known * open * open), step);
}

// Every eighth slot one other spread is tried on the same slot; the ratio of its score to that of
// the spread in use is averaged (in the logarithm) over its turns. A spread takes over when it has
// been better by more than half a per cent.
void channel_estimator::consider_spread(float gcv_in_use, int snr_step) noexcept {
    ++trial_turn_;
    if (trial_turn_ % 8 != 0 || !(gcv_in_use > 0)) return;
    const int candidate = trial_turn_ / 8 % nof_spreads;
    if (candidate == spread_) return;
    apply(all_, candidate, snr_step);
    expand(orders[static_cast<std::size_t>(candidate)], trial_);
    const float dof =
        all_.filters[static_cast<std::size_t>(candidate)][static_cast<std::size_t>(snr_step)].dof;
    const float open = 1 - dof / nof_known;
    const float gcv = residual(all_, trial_) / (nof_known * open * open);
    if (!(gcv > 0) || !std::isfinite(gcv)) return;
    float& score = gcv_[static_cast<std::size_t>(candidate)];
    score += 0.125F * (std::log(gcv / gcv_in_use) - score);
    if (score < -0.005F) {
        spread_ = candidate;
        gcv_.fill(0);
    }
}

double channel_estimator::spread_us() const noexcept {
    return spreads_us[static_cast<std::size_t>(spread_)];
}

void channel_estimator::reset() noexcept {
    spread_ = 3;
    trial_turn_ = 0;
    gcv_.fill(0);
}

}  // namespace wip::phy
