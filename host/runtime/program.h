// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of a program that is all configuration: --config, --set, --check,
// --print-config, --describe-config. Bad input is one line on standard error and exit code 2.
#pragma once

#include <functional>
#include <vector>

#include "config/schema.h"

namespace CLI {
class App;
}

namespace wip::host {

struct program {
    const char* name;     // name of the program, the first word of every line that it writes
    const char* purpose;  // one line, for --help
    const std::vector<config::key>* keys;
    // Checks what only all keys together tell; returns nothing, throws config::error.
    std::function<void(config::settings&)> check;
    // Runs with checked settings; returns the exit code. What it throws ends with that of its kind.
    std::function<int(config::settings&)> run;
    // Options beyond the five; may be empty.
    std::function<void(CLI::App&)> add_options = {};
    // Checks that take longer, for --check alone; may be empty.
    std::function<void(config::settings&)> check_more = {};
};

int run_program(const program& p, int argc, char** argv);

}  // namespace wip::host
