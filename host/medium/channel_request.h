// SPDX-License-Identifier: GPL-3.0-or-later
// Reading and realising the channel of a path: the same for the configuration file and for a change
// at run time.
#pragma once

#include "air/medium_config.h"
#include "profiles/yaml_place.h"

namespace wip::air {

// What would be valid as a model.
std::string channel_models();

// Everything but the model, from the keys of a path. Throws std::invalid_argument, one line.
channel_request read_request(const profiles::place& path);
shadowing_request read_shadowing(const profiles::place& value);

// A function of (request, user, seed). Throws std::invalid_argument.
sample_model::channel_config realise(const channel_request& request, std::uint32_t user,
                                     std::uint64_t seed);

}  // namespace wip::air
