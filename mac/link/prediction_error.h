// SPDX-License-Identifier: GPL-3.0-or-later
// The level of the prediction error that the terminal's feedback amounts to, for the switch table
// that follows it.
//
// The terminal reports its running NMSE = E(g - p)^2 / E g^2 of the SNR (g true, p predicted) and p
// of all bins. The table needs the power q of the error of the complex gain, as an SNR. With
// p = |g^|^2 + q the conditional mean, E((g - p)^2 | p) = 2 |g^|^2 q + q^2, hence, averaged,
//
//     2 q G - q^2 = NMSE E g^2,      G = E p,      E g^2 = E p^2 / (1 - NMSE),
//     q = G - sqrt(G^2 - NMSE / (1 - NMSE) E p^2).
//
// For Rayleigh fading (E g^2 = 2 G^2) this is q = s G, NMSE = s - s^2/2; a channel that does not
// fade gives half of that, since all of its NMSE is error and none of E g^2 is spread. G and E p^2
// are running means over all bins and about 1000 slots (the receiver's own NMSE: 300).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>

#include "types/grid.h"

namespace wip {

class prediction_error {
public:
    // Predicted SNR in dB, and the reported NMSE: NaN or negative = not known.
    void add(const std::array<float, nof_bins>& predicted_db, float nmse) noexcept {
        double sum = 0, squares = 0;
        for (const float db : predicted_db) {
            const double p = std::pow(10.0, std::min(db, 100.0F) / 10);
            sum += p;
            squares += p * p;
        }
        count_ = std::min(count_ + 1, memory_slots);
        mean_ += (sum / nof_bins - mean_) / count_;
        square_ += (squares / nof_bins - square_) / count_;
        if (nmse >= 0) nmse_ = std::min(static_cast<double>(nmse), 0.99);
    }

    bool known() const noexcept { return nmse_ >= 0 && count_ > 0; }
    // The power q as a linear SNR, at most the mean SNR, which it has when nothing can be
    // predicted.
    double level() const noexcept {
        const double rest = mean_ * mean_ - nmse_ / (1 - nmse_) * square_;
        return mean_ - std::sqrt(std::max(rest, 0.0));
    }
    double mean_snr() const noexcept { return mean_; }

private:
    static constexpr double memory_slots = 1000;
    double mean_ = 0, square_ = 0;
    double count_ = 0;
    double nmse_ = -1;
};

}  // namespace wip
