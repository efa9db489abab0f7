// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/kalman_predictor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wip::phy {

namespace {

constexpr double loading = 1e-5;
constexpr double two_pi = 2 * std::numbers::pi;

bin_gains turned(const bin_gains& g, double radians) noexcept {
    const auto c = static_cast<float>(std::cos(radians));
    const auto s = static_cast<float>(std::sin(radians));
    bin_gains out;
    for (std::size_t b = 0; b < bin_gains::padded; ++b) {
        out.re[b] = g.re[b] * c - g.im[b] * s;
        out.im[b] = g.re[b] * s + g.im[b] * c;
    }
    return out;
}

}  // namespace

kalman_predictor::kalman_predictor(int horizon) : horizon_(horizon), models_(nof_dopplers) {
    for (int d = 0; d < nof_dopplers; ++d) {
        std::array<double, order + 1> r;
        clarke_correlation(doppler_at(doppler_index{d}), r.data(), static_cast<int>(order + 1));
        r[0] += loading;
        auto& m = models_[static_cast<std::size_t>(d)];
        solve_toeplitz(r.data(), r.data() + 1, m.a.data(), static_cast<int>(order));
        m.innovation = r[0];
        for (std::size_t i = 0; i < order; ++i) m.innovation -= m.a[i] * r[i + 1];
        m.innovation = std::max(m.innovation, 1e-9);
        auto g = m.a;
        for (int h = 1; h < horizon; ++h) {
            const double first = g[0];
            for (std::size_t i = 0; i < order; ++i)
                g[i] = first * m.a[i] + (i + 1 < order ? g[i + 1] : 0.0);
        }
        for (std::size_t i = 0; i < order; ++i) m.ahead[i] = static_cast<float>(g[i]);
    }
    reset();
}

void kalman_predictor::reset() noexcept {
    search_.reset();
    forget();
    power_ = noise_ = phase_ = offset_ = 0;
    seen_ = 0;
}

void kalman_predictor::forget() noexcept {
    state_.fill({});
    for (std::size_t i = 0; i < order; ++i) {
        covariance_[i].fill(0);
        covariance_[i][i] = 1;
    }
    modelled_ = 0;
}

// One slot on, nothing observed.
void kalman_predictor::step() noexcept {
    const auto& m = models_[static_cast<std::size_t>(search_.doppler())];
    std::array<double, order> v{};
    double first = m.innovation;
    for (std::size_t i = 0; i < order; ++i)
        for (std::size_t k = 0; k < order; ++k) v[k] += m.a[i] * covariance_[i][k];
    for (std::size_t k = 0; k < order; ++k) first += v[k] * m.a[k];
    for (std::size_t i = order - 1; i > 0; --i)
        for (std::size_t k = order - 1; k > 0; --k) covariance_[i][k] = covariance_[i - 1][k - 1];
    covariance_[0][0] = first;
    for (std::size_t k = 1; k < order; ++k) covariance_[0][k] = covariance_[k][0] = v[k - 1];
    bin_gains next;
    for (std::size_t i = 0; i < order; ++i) {
        const auto a = static_cast<float>(m.a[i]);
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            next.re[b] += a * state_[i].re[b];
            next.im[b] += a * state_[i].im[b];
        }
    }
    for (std::size_t i = order - 1; i > 0; --i) state_[i] = state_[i - 1];
    state_[0] = next;
    phase_ = std::remainder(phase_ + offset_, two_pi);
}

void kalman_predictor::observe(const gain_sample& now) noexcept {
    const double noise = std::max(noise_ / (power_ + 1e-30), 1e-6);
    const double all = covariance_[0][0] + noise;
    std::array<double, order> gain;
    for (std::size_t i = 0; i < order; ++i) gain[i] = covariance_[i][0] / all;
    bin_gains innovation = turned(now.gain, -phase_);
    for (std::size_t b = 0; b < bin_gains::padded; ++b) {
        innovation.re[b] -= state_[0].re[b];
        innovation.im[b] -= state_[0].im[b];
    }
    for (std::size_t i = 0; i < order; ++i) {
        const auto g = static_cast<float>(gain[i]);
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            state_[i].re[b] += g * innovation.re[b];
            state_[i].im[b] += g * innovation.im[b];
        }
    }
    for (std::size_t i = 0; i < order; ++i)
        for (std::size_t k = 0; k < order; ++k) covariance_[i][k] -= gain[i] * gain[k] * all;
    for (std::size_t i = 0; i < order; ++i) covariance_[i][i] = std::max(covariance_[i][i], 1e-12);
}

// The search has another carrier offset: the states as if it had been known all along.
void kalman_predictor::retune() noexcept {
    const double change = search_.offset() - offset_;
    if (change == 0) return;
    offset_ = search_.offset();
    for (std::size_t i = 0; i < order; ++i)
        state_[i] = turned(state_[i], change * static_cast<double>(i));
}

bool kalman_predictor::update(const gain_sample& now, bin_gains& ahead) noexcept {
    search_.update(now);
    double power = 0;
    for (std::size_t b = 0; b < bin_gains::padded; ++b)
        power +=
            static_cast<double>(now.gain.re[b] * now.gain.re[b] + now.gain.im[b] * now.gain.im[b]);
    ++seen_;
    const double weight = std::max(1.0 / static_cast<double>(seen_), 1.0 / 256);
    noise_ += weight * (static_cast<double>(now.error) - noise_);
    power_ += weight * (std::max(0.0, power / nof_bins - static_cast<double>(now.error)) - power_);
    step();
    observe(now);
    if (!search_.ready()) {
        forget();  // there is no model yet
        return false;
    }
    retune();
    if (++modelled_ < 2 * static_cast<std::int64_t>(order)) return false;
    const auto& m = models_[static_cast<std::size_t>(search_.doppler())];
    bin_gains sum;
    for (std::size_t i = 0; i < order; ++i)
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            sum.re[b] += m.ahead[i] * state_[i].re[b];
            sum.im[b] += m.ahead[i] * state_[i].im[b];
        }
    ahead = turned(sum, phase_ + offset_ * horizon_);
    return true;
}

void kalman_predictor::skip() noexcept {
    step();
    gain_sample expected;
    expected.gain = turned(state_[0], phase_);
    expected.error = static_cast<float>(noise_);
    search_.update(expected);
}

}  // namespace wip::phy
