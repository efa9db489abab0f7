// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/program.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "config/command_line.h"
#include "runtime/process.h"

namespace wip::host {

int run_program(const program& p, int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_logger_mt(p.name));
    spdlog::set_pattern(std::string(p.name) + ": %l: %v");
    std::string file;
    std::vector<std::string> assignments;
    bool print = false, describe = false, check = false;
    CLI::App app{p.purpose};
    app.add_option("--config", file, "YAML configuration")->type_name("FILE");
    app.add_option("--set", assignments, "a setting over the file, repeatable")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    app.add_flag("--check", check, "check the configuration and the files it names, and end");
    app.add_flag("--print-config", print, "print the effective configuration and end");
    app.add_flag("--describe-config", describe, "print the table of all keys and end");
    if (p.add_options) p.add_options(app);
    return config::with_command_line(app, argc, argv, p.name, [&] {
        if (describe) {
            std::fputs(config::to_markdown(*p.keys).c_str(), stdout);
            return 0;
        }
        config::settings settings(*p.keys);
        if (!file.empty()) settings.merge_file(file);
        for (const auto& a : assignments) settings.merge_assignment(a);
        p.check(settings);
        if (check && p.check_more) p.check_more(settings);
        if (check) return 0;
        if (print) {
            std::fputs(settings.to_yaml().c_str(), stdout);
            return 0;
        }
        return p.run(settings);
    });
}

}  // namespace wip::host
