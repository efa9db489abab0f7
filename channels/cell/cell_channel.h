// SPDX-License-Identifier: GPL-3.0-or-later
// The channel of an emulated cell, chosen by name: `static` and `awgn` (each bin has an SNR of its
// own, no fading) or a channel definition (profiles/), with predictions of a given quality. A
// recorded trace is the emulator's own (host/emulator).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bin/gain_prediction.h"
#include "cell/emulated_cell.h"
#include "profiles/channel_definition.h"

namespace wip::cell_model {

struct channel_config {
    std::string model = "static";  // a definition, or a trace file
    double snr_db = 16;
    std::vector<float> users_db;      // mean SNR of user 0, 1, ...; users not named have snr_db
    std::optional<double> speed_kmh;  // nullopt: that of the definition
    profiles::channel_choice::use shadowing = profiles::channel_choice::use::as_defined;
    std::optional<double> shadowing_db;  // standard deviation; nullopt: that of the definition
    bin_model::prediction_mean prediction_mean = bin_model::prediction_mean::unbiased;
    std::optional<double> prediction_nmse =
        0.1;                     // nullopt: the predictions that the trace contains
    std::vector<float> bins_db;  // model `static`: SNR of each bin
    double blackout_ms = 0;  // its length from now on; 0: none, infinity: until it is switched off
};

// One for each user of the cell. Throws std::invalid_argument.
std::vector<snr_source> make_sources(const channel_config& channel, const emulation_config& cell);

}  // namespace wip::cell_model
