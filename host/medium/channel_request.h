// SPDX-License-Identifier: GPL-3.0-or-later
// Reading and realising the channel of a path: the same for the configuration file and for a change
// at run time.
#pragma once

#include <string>

#include "air/medium_config.h"
#include "config/schema.h"

namespace wip::air {

// What would be valid as a model.
std::string channel_models();

shadowing_request read_shadowing(const config::settings& settings, const std::string& path);

// A function of (request, user, seed). Throws std::invalid_argument.
sample_model::channel_config realise(const channel_request& request, std::uint32_t user,
                                     std::uint64_t seed);

}  // namespace wip::air
