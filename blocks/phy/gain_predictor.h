// SPDX-License-Identifier: GPL-3.0-or-later
// Predicts the complex gain of many frequency points a fixed number of slots ahead, from their own
// noisy past, without being told the speed.
//
// Model: the points fade with one and the same Doppler spectrum, so one linear predictor serves
// them all:  h^(t+D) = sum_i a_i y(t - i),  i = 0..order-1,  y = h + estimation noise.
// The coefficients are the least-squares ones over the recent past, pooled over all points and
// forgotten exponentially: minimise sum_t w^(now-t) sum_n |y_n(t) - a^T (y_n(t-D), y_n(t-D-1),
// ..)|^2. Compared with Yule-Walker on an estimated autocorrelation this needs no noise variance
// and copes with the few independent fades that a window of 100 ms holds. As the noise of y(t+D) is
// independent of the regressors, the minimiser of the noisy criterion is the (shrunk) conditional
// mean of h itself.
//
// The predicted power is E|h|^2 given the past = |h^|^2 + e, with e = residual - noise variance, so
// it is unbiased: with s = e / E|h|^2 its NMSE is s - s^2/2 (docs/air-interface.md of the design).
//
// Causal by construction: update(t) touches nothing later than t. Until there is a history the last
// value stands in. Shown by tests/unit/phy/test_gain_predictor.cpp.
#pragma once

#include <complex>
#include <memory>
#include <span>

namespace wip::phy {

struct gain_predictor_config {
    int points = 25;            // frequency points, 1..500
    int horizon = 3;            // slots ahead, 1..64
    int order = 10;             // past values used, 1..32
    double memory_slots = 150;  // time constant of the forgetting, 10..10000
    int refresh_slots = 15;     // coefficients are solved anew after so many slots, 1..1000
};

class gain_predictor {
public:
    explicit gain_predictor(const gain_predictor_config& config);  // throws std::invalid_argument
    ~gain_predictor();

    // Gain estimates of one slot (`points` of them) and the variance of their estimation noise.
    void update(std::span<const std::complex<float>> gains, float noise_variance) noexcept;

    // E|h|^2 of point n, `horizon` slots after the last update. At least 0.
    float predicted_power(int n) const noexcept;
    // The predictor's own error: E|h - h^|^2, running mean over all points.
    float error_variance() const noexcept;

    void reset() noexcept;  // after a gap: forget the past values, keep the coefficients

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace wip::phy
