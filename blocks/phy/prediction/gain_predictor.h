// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction of the complex gains of the 25 bins `horizon` slots ahead: the part of the SNR
// prediction (snr_predictor.h) for which there are several methods behind one interface.
//
//   last     the gain stays as it is
//   ar       per bin: autoregressive model of order 16 by Burg's method over the last 192 slots
//   ls       order 16, least squares for just this horizon, one set of weights for all bins
//   kalman   per bin: Kalman filter on an autoregressive model of Clarke's process, whose Doppler
//            is searched for (doppler_search.h)
//   delay    components over the band (uncorrelated, found while running), each predicted by a
//            Wiener filter of its own SNR for Clarke's process; mixed with `ls` by running error
//
// All are causal, adapt while running, and allocate in the constructor only. The error of a
// forecast is measured by the caller when its slot has come.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "phy/grid/resource_map.h"
#include "phy/math/lane_sum.h"
#include "types/grid.h"
#include "types/setting_limits.h"

namespace wip::phy {

struct bin_gains {
    static constexpr int padded = 32;  // bins, as whole vectors; the rest is zero
    alignas(64) std::array<float, padded> re{};
    std::array<float, padded> im{};
};

// Sum of |gain|^2 over the bins.
inline float power_of(const bin_gains& g) noexcept {
    return lane_sum(bin_gains::padded,
                    [&](auto at) {
                        const auto re = at(g.re.data()), im = at(g.im.data());
                        return lane_terms{re * re + im * im};
                    })
        .of[0];
}

struct gain_sample {
    bin_gains gain;
    float error = 0;  // variance of the error of one gain
    // Variance of the error along any unit direction in the space of the 25 gains in which the
    // estimate is free to move: noise over the known elements of a bin.
    float direction_error = 0;
};

class gain_predictor {
public:
    virtual ~gain_predictor() = default;
    virtual void reset() noexcept = 0;
    // Takes the gains of one slot and writes those predicted `horizon` slots later; returns false
    // if too little is known for a prediction.
    virtual bool update(const gain_sample& now, bin_gains& ahead) noexcept = 0;
    // Advances by a slot that could not be measured.
    virtual void skip() noexcept = 0;
};

inline constexpr auto predictor_names = setting::phy_predictor_choices;
inline constexpr std::string_view default_predictor = "delay";

inline constexpr int longest_horizon = 64;

struct predictor_choice {
    std::string method{default_predictor};  // one of predictor_names
    int horizon = 3;                        // slots ahead, 0 .. longest_horizon
    bool operator==(const predictor_choice&) const = default;
};
// Whether an snr_predictor can be made for this choice.
inline bool available(const predictor_choice& c) noexcept {
    return c.horizon >= 0 && c.horizon <= longest_horizon &&
           std::find(predictor_names.begin(), predictor_names.end(), c.method) !=
               predictor_names.end();
}

// horizon 1..64. Throws std::invalid_argument naming the value and what is valid.
std::unique_ptr<gain_predictor> make_gain_predictor(std::string_view name, int horizon);

// A function like make_gain_predictor that may know more names. Code that loads predictors of the
// user's own hands one to the receiver.
using gain_predictor_maker =
    std::function<std::unique_ptr<gain_predictor>(std::string_view name, int horizon)>;

}  // namespace wip::phy
