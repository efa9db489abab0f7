// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/snr_predictor.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "types/not_valid.h"

namespace wip::phy {

namespace {

constexpr double calibration_forget = 1 - 1.0 / 200;
constexpr double nmse_forget = 1 - 1.0 / 300;
constexpr double trust_forget = 1 - 1.0 / 100;
constexpr double least_calibration = 20;  // slots of calibration
// 120 dB above full scale: no signal, and its fourth powers still fit a float, in sums, too.
constexpr float largest_power = 1e12F;

bool is_possible(const bin_measurement& m) noexcept {
    const auto fits = [](float power) { return power >= 0 && power <= largest_power; };
    bool all = fits(m.noise) && fits(m.gain_noise);
    for (std::size_t b = 0; b < nof_bins; ++b)
        all = all && fits(m.power[b]) && fits(std::norm(m.gain[b]));
    return all;
}

}  // namespace

snr_predictor::snr_predictor(int horizon_slots, std::string_view method,
                             const gain_predictor_maker& make)
    : choice_{std::string(method), horizon_slots} {
    if (horizon_slots < 0 || horizon_slots > longest_horizon)
        throw std::invalid_argument(not_valid("horizon_slots", std::to_string(horizon_slots),
                                              "0.." + std::to_string(longest_horizon)));
    auto made = make(method, std::max(horizon_slots, 1));
    if (horizon_slots > 0) method_ = std::move(made);
    forecasts_.resize(static_cast<std::size_t>(std::max(horizon_slots, 1)));
}

void snr_predictor::reset() noexcept {
    if (method_) method_->reset();
    for (auto& f : forecasts_) f.valid = false;
    agreement_ = 0;
    predicted_power_ = gain_power_ = weight_ = 0;
    error_ = last_error_ = power_ = method_lead_ = 0;
}

// Compares the forecast for this slot with what was measured.
void snr_predictor::evaluate_due(const bin_measurement& m, const bin_gains& now) noexcept {
    auto& f = forecasts_[due_];
    if (!f.valid) return;
    f.valid = false;
    double re = 0, im = 0, predicted_power = 0, gain_power = 0, error = 0, last_error = 0,
           power = 0;
    const double scale = 1 / (static_cast<double>(m.noise) + 1e-30);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const auto hr = static_cast<double>(now.re[b]), hi = static_cast<double>(now.im[b]);
        const auto fr = static_cast<double>(f.gain.re[b]), fi = static_cast<double>(f.gain.im[b]);
        re += hr * fr + hi * fi;
        im += hi * fr - hr * fi;
        predicted_power += fr * fr + fi * fi;
        gain_power += hr * hr + hi * hi;
        const double p = static_cast<double>(m.power[b]) * scale;
        const double d = p - static_cast<double>(f.predicted[b]) * scale;
        const double e = p - static_cast<double>(f.last[b]) * scale;
        error += d * d;
        last_error += e * e;
        power += p * p;
    }
    if (f.fitted) {
        const auto average = [](auto& to, auto v) { to = calibration_forget * to + v; };
        average(agreement_, std::complex(re, im) / double{nof_bins});
        average(predicted_power_, predicted_power / nof_bins);
        average(gain_power_, gain_power / nof_bins - static_cast<double>(m.gain_noise));
        average(weight_, 1.0);
    }
    method_lead_ = trust_forget * method_lead_ + last_error - error;
    error_ = nmse_forget * error_ + (f.trusted ? error : last_error);
    last_error_ = nmse_forget * last_error_ + last_error;
    power_ = nmse_forget * power_ + power;
}

void snr_predictor::update(const bin_measurement& m,
                           std::array<float, nof_bins>& predicted) noexcept {
    if (!is_possible(m)) {
        predicted.fill(0);
        return skip();
    }
    gain_sample now;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        now.gain.re[b] = m.gain[b].real();
        now.gain.im[b] = m.gain[b].imag();
    }
    now.error = m.gain_noise;
    now.direction_error = m.noise / static_cast<float>(m.known);
    evaluate_due(m, now.gain);
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    f.valid = choice_.horizon > 0;
    f.last = m.power;
    f.fitted = method_ && method_->update(now, f.gain);
    if (!f.fitted) f.gain = now.gain;
    f.trusted = f.fitted && !(method_lead_ < 0);
    double shrink2 = 1;
    double e = 0;
    if (weight_ > least_calibration && predicted_power_ > 0) {
        const double agreement = std::abs(agreement_);
        const double shrink = std::min(agreement / predicted_power_, 1.0);
        shrink2 = shrink * shrink;
        e = std::max(0.0,
                     (gain_power_ - 2 * shrink * agreement + shrink2 * predicted_power_) / weight_);
    }
    const float scale = 1 / (m.noise + 1e-30F);
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float held = std::max(0.F, m.power[b] - std::norm(m.gain[b]) - m.gain_noise);
        const float p = static_cast<float>(shrink2) *
                            (f.gain.re[b] * f.gain.re[b] + f.gain.im[b] * f.gain.im[b]) +
                        static_cast<float>(e) + held;
        f.predicted[b] = f.fitted ? p : m.power[b];
        predicted[b] = (f.trusted ? p : m.power[b]) * scale;
    }
}

void snr_predictor::skip() noexcept {
    if (method_) method_->skip();
    forecasts_[due_].valid = false;
    due_ = (due_ + 1) % forecasts_.size();
}

}  // namespace wip::phy
