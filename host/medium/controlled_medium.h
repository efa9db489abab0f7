// SPDX-License-Identifier: GPL-3.0-or-later
// The medium as its control endpoint sees it.
#pragma once

#include "air/medium.h"
#include "medium/control_server.h"

namespace wip::air {

// YAML of the medium's configuration, as its status shows it.
std::string what_holds(const medium_config& config);

// `m` outlives it.
controlled controlled_medium(const medium_config& config, medium& m);

}  // namespace wip::air
