// SPDX-License-Identifier: GPL-3.0-or-later
// A program between its command line and its exit code: --help is 0, and an exception of the
// options or of the work is one line on standard error behind `name`, and the code of its kind.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "config/exit_code.h"

namespace wip::config {

inline int complain(const char* name, const char* why, int code = exit_bad_input) {
    std::fprintf(stderr, "%s: %s\n", name, why);
    return code;
}

template <class Work>
int with_command_line(CLI::App& app, int argc, char** argv, const char* name, const Work& work) {
    try {
        app.parse(argc, argv);
        return work();
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::Error& e) {
        return complain(name, e.what());
    } catch (const std::exception& e) {
        return complain(name, e.what(), exit_code_of(e));
    }
}

}  // namespace wip::config
