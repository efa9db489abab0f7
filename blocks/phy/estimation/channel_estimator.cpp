// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/channel_estimator.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "types/lanes.h"

namespace wip::phy {

namespace {

constexpr std::array<double, 5> spreads_us{0.2, 1, 2, 4, 7};
constexpr double narrowest_at_centre = 0.5;
constexpr double slope_power = 0.003;
constexpr double snr_step_db = 6;
constexpr double mean_t2 = 35.0 / 12;  // of symbol_time over the slot

constexpr std::size_t rows_at_once = 4;

std::size_t whole(std::size_t n, std::size_t group) { return (n + group - 1) / group * group; }

int step_of(float snr) {
    if (!(snr > 1)) return 0;
    return std::clamp(static_cast<int>(std::lround(10 * std::log10(snr) / snr_step_db)), 0, 7);
}

// Score of generalised cross-validation; the degrees of freedom count three quarters.
float gcv_of(const channel_estimate& e) { return e.noise / (1 - 0.75F * e.error); }

}  // namespace

void channel_estimator::side::add(int symbol, int subcarrier) {
    const auto r = static_cast<std::size_t>(count++);
    place[r] = symbol * static_cast<int>(sizeof(plane) / sizeof(float)) + subcarrier;
    n[r] = subcarrier;
    time[r] = symbol_time(symbol);
}

channel_estimator::channel_estimator() {
    static_assert(capacity >= nof_known && capacity <= plane_size);
    for (const double w : spreads_us)
        bases_.emplace_back(w, w == spreads_us[0] ? narrowest_at_centre : 0);
    const auto add = [](side& s, const auto& elements) {
        for (int b = 0; b < nof_bins; ++b)
            for (const auto& e : elements) s.add(e.symbol, b * subcarriers_per_bin + e.subcarrier);
    };
    add(pilots_, pilot_elements);
    add(all_, pilot_elements);
    add(all_, control_elements);
    design(pilots_);
    design(all_);
}

void channel_estimator::design(side& s) {
    const std::size_t padded = whole(static_cast<std::size_t>(s.count), nof_lanes);
    s.padded = static_cast<int>(padded);
    for (std::size_t w = 0; w < nof_spreads; ++w) {
        const auto& basis = bases_[w];
        const int order = basis.order();
        const int n = 2 * order;
        Eigen::MatrixXd x(n, s.count);  // a column for each known element: level, then slope
        for (int r = 0; r < s.count; ++r) {
            for (int d = 0; d < order; ++d)
                x(d, r) = static_cast<double>(basis.at(d, s.n[static_cast<std::size_t>(r)]));
            x.col(r).tail(order) =
                x.col(r).head(order) * static_cast<double>(s.time[static_cast<std::size_t>(r)]);
        }
        Eigen::VectorXd power(order);
        for (int d = 0; d < order; ++d) power[d] = basis.variance(d);
        const Eigen::MatrixXd gram = x * x.transpose();
        for (std::size_t step = 0; step < nof_snrs; ++step) {
            const double noise = std::pow(10, -snr_step_db * static_cast<double>(step) / 10);
            Eigen::MatrixXd a = gram;
            a.diagonal().head(order) += noise * power.cwiseInverse();
            a.diagonal().tail(order) += noise / slope_power * power.cwiseInverse();
            const Eigen::LLT<Eigen::MatrixXd> solver(a);
            const Eigen::MatrixXd fit = solver.solve(x);
            auto& f = s.filters[w][step];
            f.matrix.assign(whole(static_cast<std::size_t>(n), rows_at_once) * padded, 0.F);
            double dof = 0;
            f.bin_freedom = {};
            for (int r = 0; r < s.count; ++r) {
                const auto at = static_cast<std::size_t>(r);
                for (int i = 0; i < n; ++i)
                    f.matrix[static_cast<std::size_t>(i) * padded + at] =
                        static_cast<float>(fit(i, r));
                const double own =
                    fit.col(r).dot(x.col(r));  // of the element itself in the fit there
                dof += own;
                f.bin_freedom[static_cast<std::size_t>(s.n[at] / subcarriers_per_bin)] +=
                    static_cast<float>(1 - own);
            }
            f.dof = static_cast<float>(dof);
            // Diagonal blocks of the inverse, seen in the middle subcarriers of each bin. Of a
            // channel a of covariance K the estimate has K - noise A^-1.
            const Eigen::MatrixXd inverse = solver.solve(Eigen::MatrixXd::Identity(n, n));
            for (std::size_t b = 0; b < nof_bins; ++b) {
                double error = 0, missing = 0, all = 0;
                for (const int c : {2, 7, 12, 17}) {
                    Eigen::VectorXd q(order);
                    for (int d = 0; d < order; ++d)
                        q[d] = static_cast<double>(
                            basis.at(d, static_cast<int>(b) * subcarriers_per_bin + c));
                    const double level = q.dot(inverse.topLeftCorner(order, order) * q);
                    const double slope = q.dot(inverse.bottomRightCorner(order, order) * q);
                    error += (level + mean_t2 * slope) / 4;
                    missing += noise * level;
                    all += power.dot(q.cwiseAbs2());
                }
                f.bin_error[b] = static_cast<float>(error);
                f.bin_share[b] = static_cast<float>(1 - missing / all);
            }
        }
    }
}

void channel_estimator::load(const side& s, const std::array<plane, symbols_per_slot>& y,
                             const cf32* pilot_values, const cf32* control_values) noexcept {
    const float* in = y[0].re;
    const auto take = [&](int from, int to, const cf32* values) {
        const auto* x = reinterpret_cast<const float*>(values);
        for (int r = from; r < to; ++r) {
            const auto p = s.place[static_cast<std::size_t>(r)];
            const float yr = in[p];
            const float yi = in[p + plane_size];
            const float xr = x[2 * (r - from)];
            const float xi = x[2 * (r - from) + 1];
            z_.re[r] = yr * xr + yi * xi;
            z_.im[r] = yi * xr - yr * xi;
        }
    };
    take(0, nof_pilots, pilot_values);
    if (s.count > nof_pilots) take(nof_pilots, s.count, control_values);
    for (int r = s.count; r < s.padded; ++r) z_.re[r] = z_.im[r] = 0;
}

// Four rows at once: each load of z serves four products.
void channel_estimator::apply(const side& s, int spread, int snr_step) noexcept {
    const auto rows =
        static_cast<std::size_t>(2 * bases_[static_cast<std::size_t>(spread)].order());
    const auto padded = static_cast<std::size_t>(s.padded);
    const auto* zr = reinterpret_cast<const lanes*>(z_.re);
    const auto* zi = reinterpret_cast<const lanes*>(z_.im);
    const float* matrix = filter_of(s, spread, snr_step).matrix.data();
    for (std::size_t row = 0; row < rows; row += rows_at_once) {
        const auto* m0 = reinterpret_cast<const lanes*>(matrix + row * padded);
        const std::size_t blocks = padded / nof_lanes;
        lanes re[rows_at_once]{}, im[rows_at_once]{};
        for (std::size_t b = 0; b < blocks; ++b)
            for (std::size_t i = 0; i < rows_at_once; ++i) {
                re[i] += m0[i * blocks + b] * zr[b];
                im[i] += m0[i * blocks + b] * zi[b];
            }
        for (std::size_t i = 0; i < rows_at_once; ++i) {
            re_[row + i] = sum_of(re[i]);
            im_[row + i] = sum_of(im[i]);
        }
    }
}

void channel_estimator::estimate(const side& s, int spread, int snr_step,
                                 channel_estimate& out) noexcept {
    apply(s, spread, snr_step);
    const auto& basis = bases_[static_cast<std::size_t>(spread)];
    basis.expand<2>(re_.data(), im_.data(), basis.order(), {&out.middle, &out.slope});
    const auto& f = filter_of(s, spread, snr_step);
    out.error = f.dof / static_cast<float>(s.count);
    out.bin_share = f.bin_share;
    out.bin_error = f.bin_error;
    out.bin_freedom = f.bin_freedom;
    residual(s, out);
    float sum = 0;
    for (const float r : out.bin_residual) sum += r;
    out.noise = sum / (static_cast<float>(s.count) - f.dof);
}

// Of the known elements in z_, bin by bin.
void channel_estimator::residual(const side& s, channel_estimate& e) const noexcept {
    alignas(vector_alignment) std::array<float, capacity> square;
    for (int r = 0; r < s.count; ++r) {
        const auto n = s.n[static_cast<std::size_t>(r)];
        const float t = s.time[static_cast<std::size_t>(r)];
        const float dr = z_.re[r] - e.middle.re[n] - t * e.slope.re[n];
        const float di = z_.im[r] - e.middle.im[n] - t * e.slope.im[n];
        square[static_cast<std::size_t>(r)] = dr * dr + di * di;
    }
    for (std::size_t b = 0; b < nof_bins; ++b) {
        float sum = 0;
        for (std::size_t i = 0; i < pilots_per_bin; ++i) sum += square[pilots_per_bin * b + i];
        if (s.count > nof_pilots)
            for (std::size_t i = 0; i < control_symbols_per_bin; ++i)
                sum += square[nof_pilots + control_symbols_per_bin * b + i];
        e.bin_residual[b] = sum;
    }
}

void channel_estimator::from_pilots(const std::array<plane, symbols_per_slot>& y,
                                    const cf32* pilot_values, float snr,
                                    channel_estimate& out) noexcept {
    load(pilots_, y, pilot_values, nullptr);
    estimate(pilots_, spread_, step_of(snr), out);
}

void channel_estimator::from_all(const std::array<plane, symbols_per_slot>& y,
                                 const cf32* pilot_values, const cf32* control_values, float snr,
                                 channel_estimate& out) noexcept {
    const int step = step_of(snr);
    load(all_, y, pilot_values, control_values);
    estimate(all_, spread_, step, out);
    // Every eighth slot one other spread.
    if (++trial_turn_ % 8 == 0)
        consider(all_, static_cast<int>(trial_turn_ / 8 % nof_spreads), step, out);
}

void channel_estimator::try_wider(float snr, const channel_estimate& in_use) noexcept {
    const int wider = nof_spreads - 1 - spread_;
    if (wider <= 0) return;
    const auto turn = static_cast<int>(++wider_turn_ % static_cast<unsigned>(wider));
    consider(pilots_, spread_ + 1 + turn, step_of(snr), in_use);
}

// Tries a spread on the elements in z_; the ratio of its score to that of the spread in use is
// averaged (in the logarithm) over its turns. A spread takes over when it has been better by more
// than half a per cent.
void channel_estimator::consider(const side& s, int candidate, int snr_step,
                                 const channel_estimate& in_use) noexcept {
    const float gcv_in_use = gcv_of(in_use);
    if (candidate == spread_ || !(gcv_in_use > 0)) return;
    estimate(s, candidate, snr_step, trial_);
    const float gcv = gcv_of(trial_);
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
    trial_turn_ = wider_turn_ = 0;
    gcv_.fill(0);
}

}  // namespace wip::phy
