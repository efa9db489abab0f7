// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/channel_estimator.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "phy/math/symmetric_eigen.h"
#include "phy/math/turn.h"
#include "types/multiply_add.h"

namespace wip::phy {

namespace {

constexpr std::array<double, 5> spreads_us{0.2, 1, 2, 4, 7};
constexpr std::array<int, 5> place_distances{
    0, 1, 2, 4, 7};  // samples by which the window is moved on trial: an eighth of the spread
constexpr unsigned early_slots = 160;  // first slots, in which trials are more frequent
constexpr int far_place = 14;          // samples: a quarter of the widest spread
// Gains in the mean logarithm of the score that a trial needs. A window of the same width at
// another place passes other noise, from which that mean has a standard deviation of 0.006.
constexpr float least_gain_of_spread = 0.005F, least_gain_of_place = 0.02F;
constexpr double narrowest_at_centre = 0.5;
constexpr double slope_power = 0.003;
constexpr float lowest_snr = 1, highest_snr = 15849;  // 0 to 42 dB
constexpr double mean_t2 = 35.0 / 12;                 // mean square of symbol_time over the slot

constexpr std::size_t rows_at_once = 4;

std::size_t round_up(std::size_t n, std::size_t group) { return (n + group - 1) / group * group; }

// The SNR within the range of the filters; NaN becomes the lowest.
float within_range(float snr) { return snr > lowest_snr ? std::min(snr, highest_snr) : lowest_snr; }

// Multiplies each row of a real matrix by a complex number and adds the rows up, for `Registers`
// registers of a row.
template <std::size_t Registers>
void combine(const lanes* matrix, std::size_t row_registers, std::size_t rows, const float* re,
             const float* im, lanes* re_out, lanes* im_out) noexcept {
    lanes sum_re[Registers]{}, sum_im[Registers]{};
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t k = 0; k < Registers; ++k) {
            sum_re[k] = multiply_add(matrix[i * row_registers + k], re[i], sum_re[k]);
            sum_im[k] = multiply_add(matrix[i * row_registers + k], im[i], sum_im[k]);
        }
    for (std::size_t k = 0; k < Registers; ++k) {
        re_out[k] = sum_re[k];
        im_out[k] = sum_im[k];
    }
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
    for (std::size_t n = 0; n < fft_size; ++n)
        turns_[n] = cf32(turn_by(2 * std::numbers::pi * static_cast<double>(n) / fft_size));
}

void channel_estimator::design(side& s) {
    const std::size_t padded = round_up(static_cast<std::size_t>(s.count), nof_lanes);
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
        Eigen::VectorXd root(n);  // root of the prior variance
        root << power.cwiseSqrt(), std::sqrt(slope_power) * power.cwiseSqrt();
        const Eigen::MatrixXd scaled = root.asDiagonal() * x;
        const auto [values, vectors] = eigen_of(scaled * scaled.transpose());
        const Eigen::VectorXd eigenvalue = values.cwiseMax(0);
        const Eigen::MatrixXd to_modes = vectors.transpose() * scaled;
        const Eigen::MatrixXd from_modes = root.asDiagonal() * vectors;

        filter& f = s.filters[w];
        f.to_modes.assign(round_up(static_cast<std::size_t>(n), rows_at_once) * padded, 0.F);
        const std::size_t wide = round_up(static_cast<std::size_t>(n), nof_lanes);
        f.from_modes.assign(static_cast<std::size_t>(n) * wide, 0.F);
        for (int i = 0; i < n; ++i) {
            const auto row = static_cast<std::size_t>(i);
            f.eigenvalue[row] = static_cast<float>(eigenvalue[i]);
            for (int r = 0; r < s.count; ++r)
                f.to_modes[row * padded + static_cast<std::size_t>(r)] =
                    static_cast<float>(to_modes(i, r));
            for (int d = 0; d < n; ++d)
                f.from_modes[row * wide + static_cast<std::size_t>(d)] =
                    static_cast<float>(from_modes(d, i));
        }

        // The quality measures below are sums over the modes with 1 / (eigenvalue + noise) as the
        // factor. Those of a bin are means over four of its subcarriers.
        // The weight of each element in the fit at its own place.
        const Eigen::MatrixXd own = to_modes.cwiseAbs2();
        std::array<Eigen::VectorXd, nof_bins> level, slope;
        std::array<double, nof_bins> all{};
        for (std::size_t b = 0; b < nof_bins; ++b) {
            level[b] = slope[b] = Eigen::VectorXd::Zero(n);
            for (const int c : {2, 7, 12, 17}) {
                Eigen::VectorXd q(order);
                for (int d = 0; d < order; ++d)
                    q[d] = static_cast<double>(
                        basis.at(d, static_cast<int>(b) * subcarriers_per_bin + c));
                level[b] += (from_modes.topRows(order).transpose() * q).cwiseAbs2();
                slope[b] += (from_modes.bottomRows(order).transpose() * q).cwiseAbs2();
                all[b] += power.dot(q.cwiseAbs2());
            }
        }
        for (std::size_t step = 0; step < nof_snrs; ++step) {
            // std::exp is used because compilers call different functions for a power of ten.
            const double noise = std::exp(-std::numbers::ln10 / 10 * static_cast<double>(step));
            const Eigen::VectorXd factor = (eigenvalue.array() + noise).inverse();
            quality& at = f.qualities[step];
            double dof = 0;
            for (int r = 0; r < s.count; ++r) {
                const double share = own.col(r).dot(factor);
                dof += share;
                at.bin_freedom[static_cast<std::size_t>(s.n[static_cast<std::size_t>(r)] /
                                                        subcarriers_per_bin)] +=
                    static_cast<float>(1 - share);
            }
            at.dof = static_cast<float>(dof);
            // The estimate of a channel a of covariance K has the covariance K - noise (the
            // inverse).
            for (std::size_t b = 0; b < nof_bins; ++b) {
                at.bin_error[b] =
                    static_cast<float>((level[b] + mean_t2 * slope[b]).dot(factor) / 4);
                at.bin_share[b] = static_cast<float>(1 - noise * level[b].dot(factor) / all[b]);
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
void channel_estimator::apply(const side& s, int spread, float snr) noexcept {
    const auto modes =
        static_cast<std::size_t>(2 * bases_[static_cast<std::size_t>(spread)].order());
    const auto padded = static_cast<std::size_t>(s.padded);
    const filter& f = s.filters[static_cast<std::size_t>(spread)];
    const auto* zr = reinterpret_cast<const lanes*>(z_.re);
    const auto* zi = reinterpret_cast<const lanes*>(z_.im);
    for (std::size_t row = 0; row < modes; row += rows_at_once) {
        const auto* m0 = reinterpret_cast<const lanes*>(f.to_modes.data() + row * padded);
        const std::size_t blocks = padded / nof_lanes;
        lanes re[rows_at_once]{}, im[rows_at_once]{};
        for (std::size_t b = 0; b < blocks; ++b)
            for (std::size_t i = 0; i < rows_at_once; ++i) {
                re[i] = multiply_add(m0[i * blocks + b], zr[b], re[i]);
                im[i] = multiply_add(m0[i * blocks + b], zi[b], im[i]);
            }
        for (std::size_t i = 0; i < rows_at_once; ++i) {
            mode_re_[row + i] = sum_of(re[i]);
            mode_im_[row + i] = sum_of(im[i]);
        }
    }
    const float noise = 1 / snr;
    for (std::size_t i = 0; i < modes; ++i) {
        const float factor = 1 / (f.eigenvalue[i] + noise);
        mode_re_[i] *= factor;
        mode_im_[i] *= factor;
    }
    const std::size_t blocks = round_up(modes, nof_lanes) / nof_lanes;
    const auto* from = reinterpret_cast<const lanes*>(f.from_modes.data());
    auto* re_out = reinterpret_cast<lanes*>(re_.data());
    auto* im_out = reinterpret_cast<lanes*>(im_.data());
    std::size_t at = 0;
    for (; at + 3 <= blocks; at += 3)
        combine<3>(from + at, blocks, modes, mode_re_.data(), mode_im_.data(), re_out + at,
                   im_out + at);
    for (; at < blocks; ++at)
        combine<1>(from + at, blocks, modes, mode_re_.data(), mode_im_.data(), re_out + at,
                   im_out + at);
}

void channel_estimator::estimate(const side& s, int spread, float snr,
                                 channel_estimate& out) noexcept {
    snr = within_range(snr);
    apply(s, spread, snr);
    const auto& basis = bases_[static_cast<std::size_t>(spread)];
    basis.expand<2>(re_.data(), im_.data(), basis.order(), {&out.middle, &out.slope});
    const float snr_db = decibels(snr);
    const int step = std::min(static_cast<int>(snr_db), nof_snrs - 2);
    const float part = std::min(snr_db - static_cast<float>(step), 1.F);
    const quality* q =
        &s.filters[static_cast<std::size_t>(spread)].qualities[static_cast<std::size_t>(step)];
    const auto between = [part](float a, float b) { return a + part * (b - a); };
    const float dof = between(q[0].dof, q[1].dof);
    out.error = dof / static_cast<float>(s.count);
    out.move_window = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        out.bin_share[b] = between(q[0].bin_share[b], q[1].bin_share[b]);
        out.bin_error[b] = between(q[0].bin_error[b], q[1].bin_error[b]);
        out.bin_freedom[b] = between(q[0].bin_freedom[b], q[1].bin_freedom[b]);
    }
    residual(s, out);
    float sum = 0;
    for (const float r : out.bin_residual) sum += r;
    out.noise = sum / (static_cast<float>(s.count) - dof);
}

// Computes the residual of the known elements in z_, bin by bin.
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
    estimate(pilots_, spread_, snr, out);
}

void channel_estimator::from_all(const std::array<plane, symbols_per_slot>& y,
                                 const cf32* pilot_values, const cf32* control_values, float snr,
                                 channel_estimate& out) noexcept {
    load(all_, y, pilot_values, control_values);
    estimate(all_, spread_, snr, out);
    // In every eighth slot, at first in every second one, another spread is tried; in the turn of
    // the spread in use another place of the window.
    const unsigned every = trial_turn_ < early_slots ? 2 : 8;
    if (++trial_turn_ % every != 0) return;
    const unsigned turn = trial_turn_ / every;
    if (const int candidate = static_cast<int>(turn % nof_spreads); candidate != spread_)
        consider(all_, candidate, snr, out);
    else
        consider_place(turn / nof_spreads, snr, out);
}

void channel_estimator::try_wider(float snr, const channel_estimate& in_use) noexcept {
    const int wider = nof_spreads - 1 - spread_;
    if (wider <= 0) return;
    const auto turn = static_cast<int>(++wider_turn_ % static_cast<unsigned>(wider));
    consider(pilots_, spread_ + 1 + turn, snr, in_use);
}

// Tries a spread on the elements in z_; the ratio of its score to that of the spread in use is
// averaged (in the logarithm) over its turns. A spread takes over when it has been better by more
// than half a per cent.
void channel_estimator::consider(const side& s, int candidate, float snr,
                                 const channel_estimate& in_use) noexcept {
    if (candidate == spread_) return;
    estimate(s, candidate, snr, trial_);
    if (is_better(gcv_[static_cast<std::size_t>(candidate)], least_gain_of_spread, in_use))
        spread_ = candidate;
}

// Tries another place of the window in the same way, with all known elements in z_, whose phases
// are turned for it.
void channel_estimator::consider_place(unsigned turn, float snr,
                                       channel_estimate& in_use) noexcept {
    const unsigned kind = turn % nof_places;
    const int spread = kind < 2 ? spread_ : nof_spreads - 1;
    const int distance = kind < 2 ? place_distances[static_cast<std::size_t>(spread)] : far_place;
    const int later = kind % 2 == 0 ? distance : -distance;
    if (later == 0) return;
    for (std::size_t r = 0; r < static_cast<std::size_t>(all_.count); ++r) {
        const int turns = signed_subcarrier(all_.n[r]) * later % fft_size;
        const cf32 rotation =
            turns_[static_cast<std::size_t>(turns < 0 ? turns + fft_size : turns)];
        const float re = z_.re[r] * rotation.real() - z_.im[r] * rotation.imag();
        z_.im[r] = z_.re[r] * rotation.imag() + z_.im[r] * rotation.real();
        z_.re[r] = re;
    }
    estimate(all_, spread, snr, trial_);
    if (!is_better(place_gcv_[kind], least_gain_of_place, in_use)) return;
    spread_ = spread;
    in_use.move_window = later;
}

// Whether the trial is to be used from now on. `score` is the mean of its logarithmic scores.
bool channel_estimator::is_better(float& score, float least_gain,
                                  const channel_estimate& in_use) noexcept {
    const float gcv = gcv_of(trial_), gcv_in_use = gcv_of(in_use);
    if (!(gcv > 0) || !(gcv_in_use > 0) || !std::isfinite(gcv)) return false;
    score += 0.125F * (std::log(gcv / gcv_in_use) - score);
    if (!(score < -least_gain)) return false;
    gcv_.fill(0);
    place_gcv_.fill(0);
    return true;
}

double channel_estimator::spread_us() const noexcept {
    return spreads_us[static_cast<std::size_t>(spread_)];
}

void channel_estimator::reset() noexcept {
    spread_ = 3;
    trial_turn_ = wider_turn_ = 0;
    gcv_.fill(0);
    place_gcv_.fill(0);
}

}  // namespace wip::phy
