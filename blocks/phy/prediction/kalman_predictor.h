// SPDX-License-Identifier: GPL-3.0-or-later
// Kalman filter per bin on an autoregressive model of Clarke's process.
//
//     x[j] = sum_m a_m x[j-m] + u,  m = 1..16,     h[j] = x[j] + n,
// a from Yule and Walker's equations with the correlation J0(2 pi f k), 1e-5 added at k = 0 (the
// spectrum of Clarke's process ends sharply, so that the equations are nearly singular). f and the
// carrier offset come from doppler_search.h. The state is the last 16 values. All bins have the
// same model and noise, so one covariance and one gain serve all; a bin has a state of its own.
// The forecast is the state times the first row of the model's transition to the power `horizon`.
// A slot that was not measured is a step without an observation.
//
// Powers are relative to the mean power of the bins. Above a model order of 16 the covariance would
// have to be kept in double precision with a square root; here symmetry is enforced instead.
#pragma once

#include <cstdint>
#include <vector>

#include "phy/prediction/doppler_search.h"
#include "phy/prediction/gain_predictor.h"

namespace wip::phy {

class kalman_predictor final : public gain_predictor {
public:
    explicit kalman_predictor(int horizon);
    void reset() noexcept override;
    bool update(const gain_sample& now, bin_gains& ahead) noexcept override;
    void skip() noexcept override;

private:
    static constexpr std::size_t order = 16;
    struct model {
        std::array<double, order> a{};
        std::array<float, order> ahead{};  // first row of the transition to the power `horizon`
        double innovation = 1;             // variance of u for a process of power 1
    };
    void forget() noexcept;
    void step() noexcept;
    void observe(const gain_sample& now) noexcept;
    void retune() noexcept;

    int horizon_;
    std::vector<model> models_;  // by Doppler frequency
    doppler_search search_;
    std::array<bin_gains, order> state_;  // newest first, carrier offset taken out
    std::array<std::array<double, order>, order> covariance_;
    double power_ = 0, noise_ = 0;
    double phase_ = 0, offset_ = 0;
    std::int64_t seen_ = 0, modelled_ = 0;  // slots; with a model
};

}  // namespace wip::phy
