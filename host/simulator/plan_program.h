// SPDX-License-Identifier: GPL-3.0-or-later
// What the programs with a plan have in common.
#pragma once

#include <stdexcept>
#include <string>

#include "config/schema.h"
#include "runtime/process.h"

namespace wip::simulator {

// Runs it to its end; what is wrong with the plan is bad input.
template <class Run>
int run_plan(Run run) {
    std::string bad;
    const int code = host::run_to_its_end([&] {
        try {
            run();
        } catch (const std::invalid_argument& e) {
            bad = e.what();
        }
        return 0;
    });
    if (!bad.empty()) throw config::error(bad);
    return code;
}

}  // namespace wip::simulator
