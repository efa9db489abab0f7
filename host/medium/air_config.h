// SPDX-License-Identifier: GPL-3.0-or-later
// The medium's configuration file, and the keys of what can change while it runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "air/medium_config.h"
#include "config/schema.h"
#include "config/settings_table.h"
#include "settings/configuration.h"

namespace wip::air {

// Rows of a trace, read as that account where this is root. Throws bad_input, one line.
// Empty: traces are refused.
using read_trace_fn = std::function<std::shared_ptr<const sample_model::trace_rows>(
    const std::string& file, const std::string& user)>;

const std::vector<config::key>& file_keys();
// Throws config::error.
medium_config translate(config::settings& s, const read_trace_fn& read_trace = {});
medium_config parse_config(const std::string& text, const std::string& file_name,
                           const read_trace_fn& read_trace = {});

// Nodes, paths, seed: what the files of the medium and of the fader have in common. Throws
// config::error.
void read_mix(const config::settings& s, const config::air_settings& air,
              const std::vector<config::nodes_entry>& nodes,
              const std::vector<config::paths_entry>& paths, mix::mix_config& c,
              const read_trace_fn& read_trace);
const config::text_checks& air_checks();

// The keys of the running process: those of the file, which stay, and channel.*
const std::vector<config::key>& running_keys();
// The keys with which a change is read: the same, and paths.*.channel.*, made from channel.*
const std::vector<config::key>& change_keys();

}  // namespace wip::air
