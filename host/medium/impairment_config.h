// SPDX-License-Identifier: GPL-3.0-or-later
// The list of impairments of a path or a receiver: each item a mapping of one key, `name:
// {fields}`, or `short: number` for the first field alone (docs/channels.md has the table).
#pragma once

#include <vector>

#include "profiles/yaml_place.h"
#include "sample/stage_chain.h"

namespace wip::air {

using profiles::place;

// Throws std::invalid_argument with one line. Not given: an empty list. A receiver has at most one
// clock, of its own (medium_config.h).
std::vector<sample_model::impairment_config> read_impairments(const place& p, bool receiver);

}  // namespace wip::air
