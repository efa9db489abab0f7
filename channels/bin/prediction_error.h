// SPDX-License-Identifier: GPL-3.0-or-later
// How good the predictions of a run are: NMSE = E|g - g^|^2 / E g^2 over bins and slots, g linear
// (Alfredsson 2012, eq. 5.1). The prediction for a slot is known some slots before its SNR: it
// waits in a ring of 64 slots, longer than the longest retransmission delay.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "types/grid.h"

namespace wip::bin_model {

class prediction_error {
public:
    // The prediction for slot s, made at most 63 slots before it.
    void predicted(slot s, std::span<const float, nof_bins> linear) noexcept {
        row& r = ring_[static_cast<std::size_t>(s.value) % ring_.size()];
        r.predicted_slot = s;
        std::copy(linear.begin(), linear.end(), r.snr.begin());
    }
    // Takes the true value of slot s.
    void happened(slot s, std::span<const float, nof_bins> linear) noexcept {
        const row& r = ring_[static_cast<std::size_t>(s.value) % ring_.size()];
        if (r.predicted_slot != s) return;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const double g = linear[b], error = g - static_cast<double>(r.snr[b]);
            error_power_ += error * error;
            power_ += g * g;
        }
    }
    double nmse() const noexcept { return power_ > 0 ? error_power_ / power_ : 0; }

private:
    struct row {
        slot predicted_slot{-1};
        std::array<float, nof_bins> snr{};
    };
    std::array<row, 64> ring_{};
    double error_power_ = 0, power_ = 0;
};

}  // namespace wip::bin_model
