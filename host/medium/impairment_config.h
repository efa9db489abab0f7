// SPDX-License-Identifier: GPL-3.0-or-later
// Impairments of receivers and paths: from the list of a setting to stages.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "sample/stage_chain.h"

namespace wip::air {

// Throws config::error. A receiver has at most one clock, of its own (medium_config.h).
std::vector<sample_model::impairment_config> read_impairments(
    const config::settings& settings, const std::string& path,
    const std::vector<config::impairment>& given, bool receiver);

}  // namespace wip::air
