// SPDX-License-Identifier: GPL-3.0-or-later
// SNR of every bin `horizon` slots ahead: the last value.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

class snr_predictor {
public:
    explicit snr_predictor(int horizon_slots);  // throws std::invalid_argument
    void reset() noexcept;

    // One slot: mean complex gain and SNR (linear) of every bin. Writes the prediction of the SNR
    // `horizon` slots later.
    void update(const std::array<cf32, nof_bins>& gain, const std::array<float, nof_bins>& snr,
                std::array<float, nof_bins>& predicted) noexcept;
    // A slot that could not be measured.
    void skip() noexcept;

    // E|g - g^|^2 / E|g|^2 over the last ~1000 slots.
    double nmse() const noexcept { return power_ > 0 ? error_ / power_ : 0; }

private:
    void settle(const std::array<float, nof_bins>& snr) noexcept;
    int horizon_;
    std::vector<std::array<float, nof_bins>> made_;  // predictions by target slot
    std::vector<bool> valid_;
    std::size_t now_ = 0;
    double error_ = 0, power_ = 0;
};

}  // namespace wip::phy
