// SPDX-License-Identifier: GPL-3.0-or-later
// SNR of every bin `horizon` slots ahead, from the complex gains of the bins.
//
// Predictor: h^[j+H] = sum_i c_i h[j-i], i = 0..7, the same c for all bins. c solves the least
// squares problem over the recent past, all 25 bins pooled: Phi c = phi with Phi, phi the
// correlations of [h[j-H], .., h[j-H-7]] with themselves and with h[j], forgotten exponentially
// (time constant 128 slots = 85 ms, where speed and Doppler stay the same). The direct form for lag
// H (not one-step prediction iterated) needs no model of the noise in h: it is in Phi. Solved again
// every 16 slots by Cholesky, with the diagonal loaded by 1e-4 of the mean power.
//
// From gain to SNR: h given its past is complex Gaussian around h^ with variance e, so that
// E|h|^2 = |h^|^2 + e. e is measured: |h - h^|^2 of the predictions that came due, averaged over
// about 200 slots, less the noise of the measured gain. This conditional mean is unbiased, which
// the switch tables ask for. Power of a bin that its mean gain does not hold (delay spread within
// 200 kHz) is predicted to stay.
//
// Quality: NMSE = E|g - g^|^2 / E|g|^2 of the SNR that was measured `horizon` slots later. Until
// 32 slots have been seen, and when prediction has been worse than the last value, the last value
// is the prediction.
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

struct bin_measurement {
    std::array<cf32, nof_bins> gain{};    // mean channel of the bin
    std::array<float, nof_bins> power{};  // mean |h|^2 of the bin
    float gain_noise = 0;                 // error variance of `gain`
    float noise = 1;                      // variance of the noise per element: SNR = power / noise
};

class snr_predictor {
public:
    explicit snr_predictor(int horizon_slots);  // throws std::invalid_argument
    void reset() noexcept;

    // One slot. Writes the prediction of the SNR (linear) `horizon` slots later.
    void update(const bin_measurement& m, std::array<float, nof_bins>& predicted) noexcept;
    // A slot that could not be measured.
    void skip() noexcept;

    // E|g - g^|^2 / E|g|^2 over the last ~1000 slots; the same for the last value as prediction.
    double nmse() const noexcept { return power_ > 0 ? error_ / power_ : 0; }
    double last_value_nmse() const noexcept { return power_ > 0 ? last_error_ / power_ : 0; }

private:
    static constexpr int order = 8;
    static constexpr int padded = 32;  // bins, as whole vectors
    struct slot_gains {
        alignas(64) std::array<float, padded> re{};
        std::array<float, padded> im{};
    };
    struct forecast {
        bool valid = false;
        std::array<float, nof_bins> predicted{};  // power
        std::array<float, nof_bins> last{};
        slot_gains gain;
    };
    const slot_gains& past(int slots) const noexcept;
    void settle(const bin_measurement& m) noexcept;
    void learn() noexcept;
    void solve() noexcept;

    int horizon_;
    std::vector<slot_gains> history_;
    std::vector<forecast> forecasts_;  // by target slot
    std::size_t now_ = 0;              // index of the newest entry of history_
    std::size_t due_ = 0;              // forecast that comes due with the next slot
    int run_ = 0;                      // measured slots in a row
    int learned_ = 0;
    std::array<std::complex<double>, order * order> correlation_{};
    std::array<std::complex<double>, order> cross_{};
    std::array<cf32, order> weights_{};
    bool solved_ = false;
    double error_variance_ = 0;
    double error_weight_ = 0;
    double error_ = 0, last_error_ = 0, power_ = 0;
};

}  // namespace wip::phy
