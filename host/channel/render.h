// SPDX-License-Identifier: GPL-3.0-or-later
// From a channel definition to a trace file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "phy/prediction/gain_predictor.h"
#include "profiles/channel_definition.h"

namespace wip::channel_program {

struct render_config {
    std::string channel;  // name or FILE.yaml
    profiles::channel_choice choice{};
    std::optional<double> delay_spread_ns{};
    std::uint64_t seed = 1;
    double seconds = 30;
    double mean_snr_db = 16;
    int horizon_slots = 3;
    std::optional<double> nmse{};  // NMSE of the predictions to be made
    bool predictor = false;        // instead: predictions of the receiver's own predictor
    std::string method{phy::default_predictor};  // method of that predictor
    std::string file, software;
};

// Throws std::invalid_argument or trace::error, one line.
void render(const render_config& config);

}  // namespace wip::channel_program
