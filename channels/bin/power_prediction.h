// SPDX-License-Identifier: GPL-3.0-or-later
// A prediction of given quality for a trace that has powers only (a recorded or imported one): the
// true SNR seen through an error, made unbiased by the statistics of the trace itself.
//
//   y = |sqrt(g) + sigma w|^2, w complex Gaussian of power 1;   g^ = f(y) = E[g | y].
//
// The phase of the gain is unknown and not needed: w is independent of it, so that the distribution
// of y given g is the same for every phase. f is Bayes' rule with the distribution of g in the
// trace (all bins and slots pooled, a histogram over sqrt(g)) and Rice's density of sqrt(y), not an
// assumption about fading: E[g | g^] = g^ over the trace up to the sampling of w. For an
// exponential g this is the construction of gain_prediction.h, f(y) = (1-s)^2 y + s m.
// sigma follows from the NMSE by bisection: NMSE = 1 - E g^2(sigma)/E g^2. Largest: the prediction
// of the mean, var g / E g^2. w is a fading process of its own: it changes over about three slots
// and two bins, as the error of a predictor with the horizon of three slots does.
// tests/unit/channels/test_bin_prediction.cpp: NMSE, bias over deciles, Rayleigh and others.
#pragma once

#include <cstdint>
#include <vector>

#include "bin/trace_channel.h"
#include "sample/tap_curves.h"

namespace wip::bin_model {

using sample_model::cf32;

class power_prediction final : public bin_prediction {
public:
    // 0, or 0.0001 to largest_nmse(trace): else std::invalid_argument. The trace outlives this.
    power_prediction(trace_channel& trace, double nmse, std::uint64_t seed);

    static double largest_nmse(const trace_channel& trace);

    void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept override;

private:
    struct estimate {
        std::vector<float> of_amplitude;  // f at sqrt(y) = i * step
        double step = 1, nmse = 0;
    };
    struct histogram {
        std::vector<double> amplitude, weight;  // non-empty cells of sqrt(g)
        double mean = 0, square = 0;            // E g, E g^2
    };
    static histogram histogram_of(const trace_channel& trace);
    static estimate posterior(const histogram& h, double sigma);

    trace_channel* trace_;
    sample_model::tap_curves error_;
    std::vector<cf32> phasors_;  // [tap][bin]
    float sigma_ = 0, per_step_ = 1;
    std::vector<float> table_;
};

}  // namespace wip::bin_model
