// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's configuration file: YAML, every key known, every value checked. An error is one line
// with file, key, value and what would be valid.
#pragma once

#include <string>

#include "air/medium_config.h"

namespace wip::air {

// Throws std::invalid_argument with such a line.
medium_config read_config_file(const std::string& file);
medium_config parse_config(const std::string& text, const std::string& file_name);

}  // namespace wip::air
