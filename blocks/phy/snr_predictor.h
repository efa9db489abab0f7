// SPDX-License-Identifier: GPL-3.0-or-later
// SNR of every bin `horizon` slots ahead, from the complex gains of the bins.
//
// Predictor: h^[j+H] = sum_i c_i h[j-i], i = 0..15, the same c for all bins. c solves the least
// squares problem over the recent past, all 25 bins pooled: Phi c = phi with Phi, phi the
// correlations of [h[j-H], .., h[j-H-15]] with themselves and with h[j], forgotten exponentially
// (time constant 256 slots = 171 ms, where speed and Doppler stay the same). The direct form for
// lag H (not one-step prediction iterated) needs no model of the noise in h: it is in Phi. Phi
// moves along its diagonal from slot to slot, so only one column is new. Solved again every 16
// slots by Cholesky, with the diagonal loaded by 1e-4 of the mean power, and by
// (H/6)^2 times as much beyond six slots: so far ahead there is little to know, and the few fades
// of the window would be fitted instead. In simulation (flat Jakes,
// gain 36 dB above its estimation noise, H = 3) this loses 5 % of NMSE against the same order with
// known statistics; orders 8, 12, 16 reach 0.042, 0.033, 0.027 at 125 Hz.
//
// From gain to SNR: h given its past is complex Gaussian around a h^ with variance e, so that
// E|h|^2 = a^2 |h^|^2 + e. a (at most 1: the fit is to the past, the future is a little less alike)
// and e come from the predictions that came due in the last 200 slots or so, with the noise of the
// measured gain taken off. This conditional mean is unbiased, which the switch tables ask for; far
// ahead it becomes the mean. Power of a bin that its mean gain does not hold (delay spread within
// 200 kHz) is predicted to stay.
//
// Quality: NMSE = E|g - g^|^2 / E|g|^2 of the SNR that was measured `horizon` slots later. Until
// 64 slots have been learned from, and when prediction has been worse than the last value, the last
// value is the prediction.
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
    static constexpr int order = 16;
    static constexpr int padded = 32;  // bins, as whole vectors
    struct slot_gains {
        alignas(64) std::array<float, padded> re{};
        std::array<float, padded> im{};
    };
    struct forecast {
        bool valid = false;
        bool fitted = false;                      // by the predictor, not the last value
        std::array<float, nof_bins> predicted{};  // power
        std::array<float, nof_bins> last{};
        slot_gains gain;
    };
    const slot_gains& past(int slots) const noexcept;
    void settle(const bin_measurement& m) noexcept;
    void learn() noexcept;
    void solve() noexcept;

    int horizon_;
    double loading_;
    std::vector<slot_gains> history_;
    std::vector<forecast> forecasts_;  // by target slot
    std::size_t now_ = 0;              // index of the newest entry of history_
    std::size_t due_ = 0;              // forecast that comes due with the next slot
    int run_ = 0;                      // measured slots in a row
    int learned_ = 0;
    std::array<std::complex<double>, order * order> correlation_{};
    std::array<std::complex<double>, order> cross_{}, first_column_{};
    std::array<cf32, order> weights_{};
    bool solved_ = false;
    // Over predictions that came due: Re conj(h^) h, |h^|^2, |h|^2 less noise, their weight.
    double agreement_ = 0, predicted_power_ = 0, gain_power_ = 0, weight_ = 0;
    double error_ = 0, last_error_ = 0, power_ = 0;
};

}  // namespace wip::phy
