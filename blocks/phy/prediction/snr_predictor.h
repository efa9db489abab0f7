// SPDX-License-Identifier: GPL-3.0-or-later
// SNR of every bin `horizon` slots ahead, from the complex gains of the bins. How the gains are
// predicted is exchangeable (gain_predictor.h); this is what all methods have in common: the SNR
// from the gain, a measure of its quality, and the prediction when the method has none.
//
// From gain to SNR: h given its past is complex Gaussian around a h^ with variance e, so that
// E|h|^2 = |a|^2 |h^|^2 + e. a (at most 1 in size: the method was fitted to the past, and the
// future differs a little more) and e come from the predictions that came due in the last 200 slots
// or so, with the noise of the measured gain taken off. This conditional mean is unbiased, which
// the switch tables ask for; far ahead it becomes the mean. Power of a bin that its mean gain does
// not hold (delay spread within 200 kHz) is predicted to stay.
//
// Quality: NMSE = E|g - g^|^2 / E|g|^2 of the prediction, against the SNR that was measured
// `horizon` slots later, over 300 slots (200 ms, so that a change of speed shows). Until the method
// has learned, and when it has been worse than the last value over 100 slots or so, the last value
// is the prediction.
#pragma once

#include <array>
#include <complex>
#include <memory>
#include <string_view>
#include <vector>

#include "phy/prediction/gain_predictor.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

struct bin_measurement {
    std::array<cf32, nof_bins> gain{};    // mean channel of the bin
    std::array<float, nof_bins> power{};  // mean |h|^2 of the bin
    float gain_noise = 0;                 // error variance of `gain`
    float noise = 1;                      // variance of the noise per element: SNR = power / noise
    int known = pilots_per_bin + control_symbols_per_bin;  // elements of a bin it was measured with
};

class snr_predictor {
public:
    // Throws std::invalid_argument: horizon 0..64, method one that `make` knows, which are those of
    // predictor_names.
    explicit snr_predictor(int horizon_slots, std::string_view method = default_predictor,
                           const gain_predictor_maker& make = make_gain_predictor);
    void reset() noexcept;

    // Takes the measurement of one slot and writes the predicted SNR (linear) `horizon_slots`
    // later. A measurement that no signal can have (not finite, or 120 dB above full scale) counts
    // as missing; the prediction is then 0.
    void update(const bin_measurement& m, std::array<float, nof_bins>& predicted) noexcept;
    // Advances by a slot that could not be measured.
    void skip() noexcept;

    // E|g - g^|^2 / E|g|^2 over the last ~300 slots; the same for the last value as prediction.
    double nmse() const noexcept { return power_ > 0 ? error_ / power_ : 0; }
    double last_value_nmse() const noexcept { return power_ > 0 ? last_error_ / power_ : 0; }
    const gain_predictor* method() const noexcept { return method_.get(); }  // null at horizon 0
    const predictor_choice& choice() const noexcept { return choice_; }

private:
    struct forecast {
        bool valid = false;
        bool fitted = false;                      // by the method, not the last value
        std::array<float, nof_bins> predicted{};  // power, by the method
        std::array<float, nof_bins> last{};
        bool trusted = false;  // `predicted` was the prediction, not `last`
        bin_gains gain;
    };
    void evaluate_due(const bin_measurement& m, const bin_gains& now) noexcept;

    predictor_choice choice_;
    std::unique_ptr<gain_predictor> method_;
    std::vector<forecast> forecasts_;  // by target slot
    std::size_t due_ = 0;              // forecast that comes due with the next slot
    // Sums over predictions that came due: conj(h^) h, |h^|^2, |h|^2 less noise, their weight.
    std::complex<double> agreement_{};
    double predicted_power_ = 0, gain_power_ = 0, weight_ = 0;
    double error_ = 0, last_error_ = 0, power_ = 0;
    double method_lead_ = 0;  // squared error of the last value less that of the method, recent
};

}  // namespace wip::phy
