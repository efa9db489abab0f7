// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/snr_predictor.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "phy/cholesky.h"

namespace wip::phy {

namespace {

constexpr double forget = 1 - 1.0 / 128;
constexpr int solve_every = 16;
constexpr int enough = 32;
constexpr double loading = 1e-4;
constexpr double error_forget = 1 - 1.0 / 200;
constexpr double nmse_forget = 1 - 1.0 / 1000;

}  // namespace

snr_predictor::snr_predictor(int horizon_slots) : horizon_(horizon_slots) {
    if (horizon_ < 0 || horizon_ > 64)
        throw std::invalid_argument("horizon_slots: " + std::to_string(horizon_) +
                                    " is not in 0..64");
    history_.resize(static_cast<std::size_t>(horizon_ + order));
    forecasts_.resize(static_cast<std::size_t>(std::max(horizon_, 1)));
}

void snr_predictor::reset() noexcept {
    for (auto& f : forecasts_) f.valid = false;
    run_ = learned_ = 0;
    correlation_.fill({});
    cross_.fill({});
    solved_ = false;
    error_variance_ = error_weight_ = 0;
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
    double gain_error = 0, error = 0, last_error = 0, power = 0;
    const double scale = 1 / (static_cast<double>(m.noise) + 1e-30);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const double dr = static_cast<double>(g.re[b]) - static_cast<double>(f.gain.re[b]);
        const double di = static_cast<double>(g.im[b]) - static_cast<double>(f.gain.im[b]);
        gain_error += dr * dr + di * di;
        const double p = static_cast<double>(m.power[b]) * scale;
        const double d = p - static_cast<double>(f.predicted[b]) * scale;
        const double e = p - static_cast<double>(f.last[b]) * scale;
        error += d * d;
        last_error += e * e;
        power += p * p;
    }
    error_variance_ = error_forget * error_variance_ +
                      (gain_error / nof_bins - static_cast<double>(m.gain_noise));
    error_weight_ = error_forget * error_weight_ + 1;
    error_ = nmse_forget * error_ + error;
    last_error_ = nmse_forget * last_error_ + last_error;
    power_ = nmse_forget * power_ + power;
}

// Adds this slot and its past to the correlations.
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
    for (int i = 0; i < order; ++i) {
        const auto& a = past(horizon_ + i);
        const auto ui = static_cast<std::size_t>(i);
        cross_[ui] = forget * cross_[ui] + product(a, past(0));
        for (int k = 0; k <= i; ++k) {
            auto& c = correlation_[ui * order + static_cast<std::size_t>(k)];
            c = forget * c + product(a, past(horizon_ + k));
        }
    }
    ++learned_;
}

void snr_predictor::solve() noexcept {
    auto a = correlation_;
    double trace = 0;
    for (std::size_t i = 0; i < order; ++i) trace += a[i * order + i].real();
    for (std::size_t i = 0; i < order; ++i) a[i * order + i] += loading * trace / order;
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
    run_ = std::min(run_ + 1, horizon_ + order);
    settle(m);
    if (horizon_ > 0 && run_ == horizon_ + order) {
        learn();
        if (learned_ >= enough && learned_ % solve_every == 0) solve();
    }
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    f.valid = horizon_ > 0;
    f.last = m.power;
    const bool can = solved_ && run_ >= order;
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
    const double e = error_weight_ > 20 ? std::max(0.0, error_variance_ / error_weight_) : 0;
    const float scale = 1 / (m.noise + 1e-30F);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float held = std::max(0.F, m.power[b] - std::norm(m.gain[b]) - m.gain_noise);
        const float p = f.gain.re[b] * f.gain.re[b] + f.gain.im[b] * f.gain.im[b] +
                        static_cast<float>(e) + held;
        f.predicted[b] = can ? p : m.power[b];
        predicted[b] = (trusted || !can ? f.predicted[b] : m.power[b]) * scale;
    }
}

void snr_predictor::skip() noexcept {
    run_ = 0;
    forecasts_[due_].valid = false;
    due_ = (due_ + 1) % forecasts_.size();
}

}  // namespace wip::phy
