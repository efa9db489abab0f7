// SPDX-License-Identifier: GPL-3.0-or-later
// A list of impairments as the value of a setting: [{cfo_hz: 3000}, {tone: {dbfs: -30, hz: 1e6}}].
// Names and fields are evaluated here, ranges where they are used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/schema.h"

namespace wip::config {

// The list in one line; nothing for a text that is no such list.
std::optional<std::string> canonical_items(const std::vector<impairment_kind>& kinds,
                                           const std::string& yaml);
// Reads the result of canonical_items().
std::vector<impairment> read_items(const std::vector<impairment_kind>& kinds,
                                   const std::string& text);
std::string valid_items(const std::vector<impairment_kind>& kinds);

}  // namespace wip::config
