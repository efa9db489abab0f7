// SPDX-License-Identifier: GPL-3.0-or-later
// The medium as its control endpoint sees it.
#pragma once

#include "air/medium.h"
#include "medium/control_server.h"

namespace wip::air {

// YAML of its configuration that stands in its status.
std::string what_holds(const medium_config& config);

// `m` outlives it.
controlled controlled_medium(const medium_config& config, medium& m);

}  // namespace wip::air
