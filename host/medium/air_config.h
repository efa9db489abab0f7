// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's configuration file, and the keys of what can change while it runs.
#pragma once

#include <string>
#include <vector>

#include "air/medium_config.h"
#include "config/schema.h"
#include "config/settings_table.h"

namespace wip::air {

// Throws config::error.
medium_config read_config_file(const std::string& file);
medium_config parse_config(const std::string& text, const std::string& file_name);

// Nodes, paths, seed: what the files of the medium and of the fader have in common. Throws
// config::error.
void read_mix(const config::settings& s, mix::mix_config& c);
const config::text_checks& air_checks();

// Those of the file, which stay, and channel.*
const std::vector<config::key>& running_keys();

}  // namespace wip::air
