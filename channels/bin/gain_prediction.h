// SPDX-License-Identifier: GPL-3.0-or-later
// A prediction of given quality, made from the complex gains of the taps: the NMSE of the SNR g of
// a bin, E|g - g^|^2 / E g^2, is the configured one.
//
// Tap p: a = d + x, d the direct path (it turns steadily: known), x scattered, Gaussian of power
// P_p. The predicted gain is a^ = d + (1-s) x + sqrt(s (1-s)) w, w of the same distribution as x
// and independent of it (another purpose of the same seed). Then cov(x, x^) = var x^ = (1-s) P_p:
// x = x^ + e with e of power s P_p independent of x^, which is what an ideal predictor leaves. w
// has the Doppler and delay spectrum of the channel, so the errors of neighbouring slots and bins
// are correlated, as those of a predictor are. The predicted SNR is the conditional mean, g^ = E[g
// | a^] = mean |H^|^2 over the bin and slot + s sum P_p, hence E[g | g^] = g^, which the switch
// tables assume. A plain prediction is mean |H^|^2 alone, the power of the predicted gain, which is
// too low by s sum P_p on average.
//
// s from the NMSE. With R = sum_p P_p exp(j 2 pi df tau_p) J0(2 pi f dt), D the same for the direct
// paths, and means over all pairs of elements of a bin and slot
//   A = mean |R|^2, B = mean 2 Re D R*, C = mean |D|^2 - sum_p |d_p|^4:
//   E g^2 = 1 + A + B + C,   E|g - g^|^2 = (2s - s^2) A + s B.
// One element, Rayleigh: A = 1, B = C = 0, NMSE = s - s^2/2. A plain prediction has (s sum P_p)^2
// more on the right: NMSE = s there. s = 1 is the prediction of the mean,
// the largest error that an unbiased prediction can have: 0.5 there, less with a direct path, 0 in
// a channel that does not fade. The large-scale gain is predicted by its value `horizon` slots
// before (with nmse 0 it is known exactly). Shadowing of 4 dB and 2 m changes in three slots by
// 0.02 dB rms at 3 km/h, 0.2 at 30 and 0.5 at 75, which comes on top of the NMSE: 0.00004, 0.003
// and 0.016. The beginning of a blackout is not predicted.
// tests/unit/channels/test_bin_prediction.cpp: NMSE, bias over deciles of g^, independence.
#pragma once

#include <cstdint>
#include <optional>

#include "bin/bin_channel.h"
#include "bin/bin_response.h"
#include "bin/fading_channel.h"

namespace wip::bin_model {

// Whether the predicted SNR is the conditional mean or the power of the predicted gain.
enum class prediction_mean : std::uint8_t { unbiased, plain };

class gain_prediction final : public bin_prediction {
public:
    // 0 <= nmse <= largest_nmse(config), horizon 0 to 64: else std::invalid_argument. `channel`:
    // the channel of the same configuration, if the same thread reads each of its slots some slots
    // after the prediction for it; its fading and its large-scale gain are then computed once for
    // both.
    gain_prediction(const fading_config& config, double nmse, slot_count horizon = slot_count(3),
                    const fading_channel* channel = nullptr,
                    prediction_mean mean = prediction_mean::unbiased);

    // The largest NMSE that an unbiased prediction can have.
    static double largest_nmse(const fading_config& config);

    void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept override;

private:
    bin_response response_;
    sample_model::tap_curves taps_;
    std::optional<sample_model::tap_curves> direct_, error_;
    float keep_ = 1, direct_gain_ = 0, error_gain_ = 0;  // weights of a, d, w
    float floor_ = 0;                                    // s sum P_p
    std::shared_ptr<slot_gain> gain_;
    slot_count horizon_;
};

}  // namespace wip::bin_model
