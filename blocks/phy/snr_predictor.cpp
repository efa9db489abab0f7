// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/snr_predictor.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "phy/cholesky.h"

namespace wip::phy {

namespace {

constexpr double forget = 1 - 1.0 / 256;
constexpr int solve_every = 16;
constexpr int enough = 64;
constexpr double least_loading = 1e-4;
constexpr double near_slots = 6;
constexpr double calibration_forget = 1 - 1.0 / 200;
constexpr double nmse_forget = 1 - 1.0 / 1000;

}  // namespace

snr_predictor::snr_predictor(int horizon_slots) : horizon_(horizon_slots) {
    if (horizon_ < 0 || horizon_ > 64)
        throw std::invalid_argument("horizon_slots: " + std::to_string(horizon_) +
                                    " is not in 0..64");
    loading_ = least_loading * std::max(1.0, horizon_ * horizon_ / (near_slots * near_slots));
    history_.resize(static_cast<std::size_t>(horizon_ + order));
    forecasts_.resize(static_cast<std::size_t>(std::max(horizon_, 1)));
}

void snr_predictor::reset() noexcept {
    for (auto& f : forecasts_) f.valid = false;
    std::fill(history_.begin(), history_.end(), slot_gains{});
    run_ = learned_ = 0;
    correlation_.fill({});
    cross_.fill({});
    first_column_.fill({});
    solved_ = false;
    agreement_ = predicted_power_ = gain_power_ = weight_ = 0;
    error_ = last_error_ = power_ = 0;
}

const snr_predictor::slot_gains& snr_predictor::past(int slots) const noexcept {
    const std::size_t n = history_.size();
    return history_[(now_ + n - static_cast<std::size_t>(slots)) % n];
}

// Compares the forecast for this slot with what was measured.
void snr_predictor::settle(const bin_measurement& m) noexcept {
    auto& f = forecasts_[due_];
    if (!f.valid) return;
    f.valid = false;
    const auto& g = past(0);
    double agreement = 0, predicted_power = 0, gain_power = 0, error = 0, last_error = 0, power = 0;
    const double scale = 1 / (static_cast<double>(m.noise) + 1e-30);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const double re = static_cast<double>(g.re[b]);
        const double im = static_cast<double>(g.im[b]);
        const double to_re = static_cast<double>(f.gain.re[b]);
        const double to_im = static_cast<double>(f.gain.im[b]);
        agreement += re * to_re + im * to_im;
        predicted_power += to_re * to_re + to_im * to_im;
        gain_power += re * re + im * im;
        const double p = static_cast<double>(m.power[b]) * scale;
        const double d = p - static_cast<double>(f.predicted[b]) * scale;
        const double e = p - static_cast<double>(f.last[b]) * scale;
        error += d * d;
        last_error += e * e;
        power += p * p;
    }
    if (f.fitted) {
        const auto average = [](double& to, double v) { to = calibration_forget * to + v; };
        average(agreement_, agreement / nof_bins);
        average(predicted_power_, predicted_power / nof_bins);
        average(gain_power_, gain_power / nof_bins - static_cast<double>(m.gain_noise));
        average(weight_, 1);
    }
    error_ = nmse_forget * error_ + error;
    last_error_ = nmse_forget * last_error_ + last_error;
    power_ = nmse_forget * power_ + power;
}

// Adds this slot and its past to the correlations. The past before the first slot is zero, and so
// is a slot that was not measured: that way the step along the diagonal is exact and Phi stays
// positive definite.
void snr_predictor::learn() noexcept {
    const auto product = [](const slot_gains& a, const slot_gains& b) {  // sum conj(a) b
        float re = 0;
        float im = 0;
        for (std::size_t i = 0; i < padded; ++i) {
            re += a.re[i] * b.re[i] + a.im[i] * b.im[i];
            im += a.re[i] * b.im[i] - a.im[i] * b.re[i];
        }
        return std::complex<double>(re, im);
    };
    for (std::size_t i = order - 1; i > 0; --i)
        for (std::size_t k = i; k > 0; --k)
            correlation_[i * order + k] = correlation_[(i - 1) * order + k - 1];
    const auto& newest = past(horizon_);
    for (std::size_t i = 0; i < order; ++i) {
        const auto& a = past(horizon_ + static_cast<int>(i));
        cross_[i] = forget * cross_[i] + product(a, past(0));
        first_column_[i] = forget * first_column_[i] + product(a, newest);
        correlation_[i * order] = first_column_[i];
    }
    ++learned_;
}

void snr_predictor::solve() noexcept {
    auto a = correlation_;
    double trace = 0;
    for (std::size_t i = 0; i < order; ++i) trace += a[i * order + i].real();
    for (std::size_t i = 0; i < order; ++i) a[i * order + i] += loading_ * trace / order;
    if (!cholesky<std::complex<double>>(a, order)) return;
    auto c = cross_;
    cholesky_solve<std::complex<double>>(a, order, c);
    for (std::size_t i = 0; i < order; ++i) weights_[i] = cf32(c[i]);
    solved_ = true;
}

void snr_predictor::update(const bin_measurement& m,
                           std::array<float, nof_bins>& predicted) noexcept {
    now_ = (now_ + 1) % history_.size();
    auto& g = history_[now_];
    for (std::size_t b = 0; b < nof_bins; ++b) {
        g.re[b] = m.gain[b].real();
        g.im[b] = m.gain[b].imag();
    }
    run_ = std::min(run_ + 1, order);
    settle(m);
    if (horizon_ > 0) {
        learn();
        if (learned_ >= enough && learned_ % solve_every == 0) solve();
    }
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    f.valid = horizon_ > 0;
    f.last = m.power;
    const bool can = solved_ && run_ >= order;
    f.fitted = can;
    if (can) {
        f.gain = {};
        for (int i = 0; i < order; ++i) {
            const cf32 w = weights_[static_cast<std::size_t>(i)];
            const auto& h = past(i);
            for (std::size_t b = 0; b < padded; ++b) {
                f.gain.re[b] += w.real() * h.re[b] - w.imag() * h.im[b];
                f.gain.im[b] += w.real() * h.im[b] + w.imag() * h.re[b];
            }
        }
    } else {
        f.gain = g;
    }
    const bool trusted = can && !(error_ > last_error_);
    double shrink = 1;
    double e = 0;
    if (weight_ > 20 && predicted_power_ > 0) {
        shrink = std::clamp(agreement_ / predicted_power_, 0.0, 1.0);
        e = std::max(
            0.0,
            (gain_power_ - 2 * shrink * agreement_ + shrink * shrink * predicted_power_) / weight_);
    }
    const auto shrink2 = static_cast<float>(shrink * shrink);
    const float scale = 1 / (m.noise + 1e-30F);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float held = std::max(0.F, m.power[b] - std::norm(m.gain[b]) - m.gain_noise);
        const float p = shrink2 * (f.gain.re[b] * f.gain.re[b] + f.gain.im[b] * f.gain.im[b]) +
                        static_cast<float>(e) + held;
        f.predicted[b] = can ? p : m.power[b];
        predicted[b] = (trusted || !can ? f.predicted[b] : m.power[b]) * scale;
    }
}

void snr_predictor::skip() noexcept {
    now_ = (now_ + 1) % history_.size();
    history_[now_] = {};
    if (horizon_ > 0) learn();
    run_ = 0;
    forecasts_[due_].valid = false;
    due_ = (due_ + 1) % forecasts_.size();
}

}  // namespace wip::phy
