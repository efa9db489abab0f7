// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/delay_predictor.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wip::phy {

namespace {

constexpr double mix_forget = 1 - 1.0 / 150;
constexpr int longest_bridge = 8;  // slots
constexpr double two_pi = 2 * std::numbers::pi;

void times(bin_gains& gains, float factor) noexcept {
    for (auto& v : gains.re) v *= factor;
    for (auto& v : gains.im) v *= factor;
}

}  // namespace

delay_predictor::delay_predictor(int horizon)
    : horizon_(horizon),
      filters_(horizon, order),
      next_(1, order),
      other_(horizon),
      forecasts_(static_cast<std::size_t>(horizon)) {
    reset();
}

void delay_predictor::reset() noexcept {
    search_.reset();
    other_.reset();
    components_.reset();
    level_.reset();
    skipped_ = 0;
    last_ = {};
    for (auto& f : forecasts_) f.valid = false;
    between_ = towards_ = mix_ = 0;
}

double delay_predictor::doppler_hz() const noexcept { return 1500 * doppler_at(search_.doppler()); }
double delay_predictor::offset_hz() const noexcept { return 1500 * search_.offset() / two_pi; }

// Which mixture of both forecasts for this slot would have been the best.
void delay_predictor::settle(const bin_gains& now) noexcept {
    const auto& f = forecasts_[due_];
    if (!f.valid) return;
    float between = 0;
    float towards = 0;
    for (std::size_t b = 0; b < bin_gains::padded; ++b) {
        const float dr = f.other.re[b] - f.own.re[b];
        const float di = f.other.im[b] - f.own.im[b];
        between += dr * dr + di * di;
        towards += dr * (now.re[b] - f.own.re[b]) + di * (now.im[b] - f.own.im[b]);
    }
    between_ = mix_forget * between_ + static_cast<double>(between);
    towards_ = mix_forget * towards_ + static_cast<double>(towards);
    mix_ = between_ > 0 ? std::clamp(towards_ / between_, 0.0, 1.0) : 0;
}

gain_sample delay_predictor::without_level(const gain_sample& now) const noexcept {
    gain_sample out = now;
    const float inverse = 1 / level_.amplitude();
    times(out.gain, inverse);
    out.error *= inverse * inverse;
    out.direction_error *= inverse * inverse;
    return out;
}

void delay_predictor::learn_level(const gain_sample& now) noexcept {
    level_.advance();
    if (!search_.ready() || !components_.full()) return;
    const gain_sample supposed = without_level(now);
    const std::size_t count =
        components_.innovations(supposed.gain.re, supposed.gain.im, supposed.direction_error, next_,
                                search_.doppler(), innovations_);
    components_.rescale(level_.learn({innovations_.data(), count}));
}

bool delay_predictor::update(const gain_sample& now, bin_gains& ahead) noexcept {
    settle(now.gain);
    last_ = now;
    skipped_ = 0;
    learn_level(now);
    const gain_sample fading = without_level(now);
    search_.update(fading);
    components_.store(fading.gain.re, fading.gain.im);
    components_.learn(fading.direction_error);
    if (search_.ready()) components_.set_offset(search_.offset());
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    const bool own = search_.ready() && components_.full();
    const bool other = other_.update(fading, f.other);
    f.valid = own && other;
    if (own) components_.filter(filters_, search_.doppler(), f.own.re, f.own.im);
    if (!own) f.own = f.other;
    const float ahead_amplitude = level_.amplitude_ahead(horizon_);
    times(f.own, ahead_amplitude);
    times(f.other, ahead_amplitude);
    ahead = f.own;
    if (f.valid) {
        const auto a = static_cast<float>(mix_);
        for (std::size_t b = 0; b < bin_gains::padded; ++b) {
            ahead.re[b] += a * (f.other.re[b] - f.own.re[b]);
            ahead.im[b] += a * (f.other.im[b] - f.own.im[b]);
        }
    }
    return own || other;
}

void delay_predictor::skip() noexcept {
    auto& f = forecasts_[due_];
    due_ = (due_ + 1) % forecasts_.size();
    if (f.valid) last_.gain = f.own;
    f.valid = false;
    if (++skipped_ > longest_bridge) components_.forget();
    level_.advance();
    const gain_sample fading = without_level(last_);
    components_.store(fading.gain.re, fading.gain.im);
    search_.update(fading);
    bin_gains unused;
    other_.update(fading, unused);
}

}  // namespace wip::phy
