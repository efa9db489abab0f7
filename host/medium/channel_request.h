// SPDX-License-Identifier: GPL-3.0-or-later
// Reading and realising the channel of a path: the same for the configuration file and for a change
// at run time.
#pragma once

#include <string>
#include <vector>

#include "air/medium_config.h"
#include "config/schema.h"

namespace wip::air {

// What would be valid as a model.
std::string channel_models();

// An SNR trace, not a definition.
inline bool is_trace(const std::string& model) { return model.ends_with(".h5"); }

// Of each path: SENDER:RECEIVER, and :2, :3 behind it if it is not the first between those two.
std::vector<std::string> path_names(const mix::mix_config& config);

// SNR of a subcarrier at the sender's level, without fading. The same function gives the noise for
// an SNR in its place.
double snr_at_unit_gain_db(const mix::node_config& sender, const path_config& path,
                           double noise_dbfs);

shadowing_request read_shadowing(const config::settings& settings, const std::string& path);

// A function of (request, user, seed). Throws std::invalid_argument.
sample_model::channel_config realise(const channel_request& request, std::uint32_t user,
                                     std::uint64_t seed);

}  // namespace wip::air
