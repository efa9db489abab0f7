// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/snr_predictor.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace wip::phy {

snr_predictor::snr_predictor(int horizon_slots) : horizon_(horizon_slots) {
    if (horizon_ < 0 || horizon_ > 64)
        throw std::invalid_argument("horizon_slots: " + std::to_string(horizon_) +
                                    " is not in 0..64");
    made_.resize(static_cast<std::size_t>(horizon_) + 1);
    valid_.resize(made_.size());
}

void snr_predictor::reset() noexcept {
    std::fill(valid_.begin(), valid_.end(), false);
    error_ = power_ = 0;
}

void snr_predictor::settle(const std::array<float, nof_bins>& snr) noexcept {
    if (!valid_[now_]) return;
    double e = 0;
    double p = 0;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const double d = static_cast<double>(snr[b]) - static_cast<double>(made_[now_][b]);
        e += d * d;
        p += static_cast<double>(snr[b]) * static_cast<double>(snr[b]);
    }
    constexpr double keep = 0.999;
    error_ = keep * error_ + e;
    power_ = keep * power_ + p;
}

void snr_predictor::update(const std::array<cf32, nof_bins>&,
                           const std::array<float, nof_bins>& snr,
                           std::array<float, nof_bins>& predicted) noexcept {
    predicted = snr;
    const std::size_t target = (now_ + static_cast<std::size_t>(horizon_)) % made_.size();
    if (horizon_ > 0) settle(snr);
    made_[target] = predicted;
    valid_[target] = true;
    if (horizon_ > 0) valid_[now_] = false;
    now_ = (now_ + 1) % made_.size();
}

void snr_predictor::skip() noexcept {
    valid_[now_] = false;
    now_ = (now_ + 1) % made_.size();
}

}  // namespace wip::phy
