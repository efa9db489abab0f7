// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/program.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/process.h"

namespace wip::host {

int run_program(const program& p, int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_logger_st(p.name));
    spdlog::set_pattern(std::string(p.name) + ": %l: %v");
    const auto complain = [&p](const std::string& why) {
        std::fprintf(stderr, "%s: %s\n", p.name, why.c_str());
        return exit_bad_input;
    };
    std::string file;
    std::vector<std::string> assignments;
    bool print = false, describe = false;
    CLI::App app{p.purpose};
    app.add_option("--config", file, "YAML configuration")->type_name("FILE");
    app.add_option("--set", assignments, "a setting over the file, repeatable")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    app.add_flag("--print-config", print, "print the effective configuration and end");
    app.add_flag("--describe-config", describe, "print the table of all keys and end");
    if (p.add_options) p.add_options(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        return complain(e.what());
    }
    if (describe) {
        std::fputs(config::to_markdown(*p.keys).c_str(), stdout);
        return 0;
    }
    try {
        config::settings settings(*p.keys);
        if (!file.empty()) settings.merge_file(file);
        for (const auto& a : assignments) settings.merge_assignment(a);
        p.check(settings);
        if (print) {
            std::fputs(settings.to_yaml().c_str(), stdout);
            return 0;
        }
        return p.run(settings);
    } catch (const std::exception& e) {
        return complain(e.what());
    }
}

}  // namespace wip::host
