// SPDX-License-Identifier: GPL-3.0-or-later
// A program between its command line and its exit code: --help is 0, and an exception of the
// options or of the work is one line on standard error behind `name`, and the code of its kind.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "config/exit_code.h"

namespace wip::config {

inline int complain(const char* name, const char* why, int code = exit_bad_input) {
    std::fprintf(stderr, "%s: %s\n", name, why);
    return code;
}

// The options of a program as data, for the help and the checks that need no build
// (host/cli/openwip_cli/command_lines.py): the description, then a line each with tabs between the
// names, the placeholder of the value, the least and the most values, and the help.
inline void print_command_line(const CLI::App& app) {
    std::printf("%s\n", app.get_description().c_str());
    for (const auto* option : app.get_options()) {
        if (option == app.get_help_ptr()) continue;
        std::string names;
        for (const auto& name : option->get_snames()) names += (names.empty() ? "-" : " -") + name;
        for (const auto& name : option->get_lnames())
            names += (names.empty() ? "--" : " --") + name;
        if (names.empty()) names = option->get_name(true);
        const int most = option->get_items_expected_max();
        const std::string type = option->get_type_name();  // behind a colon: what is checked
        std::printf("%s\t%s\t%d\t%s\t%s\n", names.c_str(),
                    most == 0 ? "" : type.substr(0, type.find(':')).c_str(),
                    option->get_items_expected_min(),
                    most > 1 ? "any" : std::to_string(most).c_str(),
                    option->get_description().c_str());
    }
}

template <class Work>
int with_command_line(CLI::App& app, int argc, char** argv, const char* name, const Work& work) {
    if (argc == 2 && std::strcmp(argv[1], "--command-line") == 0) {
        print_command_line(app);
        return 0;
    }
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
