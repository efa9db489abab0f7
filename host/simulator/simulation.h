// SPDX-License-Identifier: GPL-3.0-or-later
// The emulator's link with ns-3's TCP at both its ends: links on ns-3's scheduler, nodes, traffic
// by a plan, counts.
#pragma once

#include <iosfwd>
#include <string>

#include "emulator/emulator_config.h"
#include "emulator/path_run.h"

namespace wip::simulator {

struct run_config {
    std::string plan;         // file of the form of host/flow/flows.schema.json
    double longest_s = 3600;  // seconds of simulated time after which a run is abandoned
    emulator::run_times times;
};

// Writes what a path_run does, with `flows`. Throws std::invalid_argument for the plan.
void run_simulation(const emulator::emulator_config& config, const run_config& r,
                    std::ostream& out);

}  // namespace wip::simulator
