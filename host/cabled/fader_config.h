// SPDX-License-Identifier: GPL-3.0-or-later
// The fader's configuration file: nodes and paths as the medium's, a radio for each node.
#pragma once

#include <string>
#include <vector>

#include "config/schema.h"
#include "fader/fader.h"
#include "medium/air_config.h"

namespace wip::cabled {

// The radio of a node.
struct radio_config {
    std::string node;
    std::string arguments;  // UHD's device arguments
    std::size_t channel = 0;
    double receive_gain_db = 0, transmit_gain_db = 0;
    std::string clock_source, time_source;
};

struct fader_config {
    fader_setup setup;
    std::vector<radio_config> radios;  // one for each node
    std::string name, control, user;
    std::string record;  // base name of recordings; empty: none
    double record_seconds = 0;
    double frequency_hz = 0, start_delay_s = 0;
    int priority = 0;
};

const std::vector<config::key>& fader_keys();
// Throws config::error.
fader_config translate(const config::settings& s, const air::read_trace_fn& read_trace = {});

}  // namespace wip::cabled
