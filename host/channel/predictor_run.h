// SPDX-License-Identifier: GPL-3.0-or-later
// The receiver's own predictor (phy/prediction/snr_predictor.h) over a bin-level channel: what it
// would have predicted for slot t, `horizon` slots before. It sees the bin's mean gain with the
// error of twelve known elements (variance 1/12 of the noise, the least squares mean over the bin's
// pilots and control symbols; the receiver's estimator, which smooths over bins, has less) and the
// bin's power with the error that follows from it. The error is a function of (seed, slot). It has
// run for a second when slot 0 comes, so that the first rows are not those of a predictor that
// knows nothing yet.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bin/fading_channel.h"
#include "extension/own_predictors.h"
#include "phy/prediction/snr_predictor.h"

namespace wip::channel_program {

class predictor_run {
public:
    // Throws bad_input when the method is code of the user's own that cannot be loaded.
    predictor_run(const bin_model::fading_config& config, int horizon_slots,
                  const std::string& method);

    // Slots 0, 1, 2, ... one after the other: true SNR and the prediction made for it. Throws
    // bad_input when code of the user's own has failed.
    void next(std::span<float, nof_bins> linear, std::span<float, nof_bins> predicted);
    std::optional<extension::rule_cost> cost() const { return makers_.cost(); }

private:
    static constexpr std::int64_t warm_up = slots_per_second;
    void measure(slot s) noexcept;

    bin_model::fading_channel channel_;
    extension::own_predictors makers_{phy::make_gain_predictor};
    phy::snr_predictor predictor_;
    std::uint32_t key_;
    std::int64_t next_ = 0;
    // The last horizon + 1 slots: predictions by the slot they are for, truth by slot.
    std::vector<std::array<float, nof_bins>> predicted_, truth_;
};

}  // namespace wip::channel_program
