// SPDX-License-Identifier: GPL-3.0-or-later
// wip_ns3_line: the line of tcp-l with ns-3's TCP at both its ends. The configuration is
// wip_tcpl's.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "config/number_option.h"
#include "runtime/privileged_start.h"
#include "runtime/program.h"
#include "simulator/line_simulation.h"
#include "virtual/timed_run.h"

namespace {

using namespace wip;

int run(config::settings& settings, const std::string& plan, double seconds) {
    const tcpl::tcpl_config config = tcpl::translate(settings);
    const host::privileged_start start(settings, ::geteuid() != 0 ? std::string() : config.user);
    start.give_up({});
    virtual_time::end_with_parent();
    simulator::run_line(config, plan, seconds, std::cout);
    return host::exit_asked;
}

}  // namespace

int main(int argc, char** argv) {
    std::string plan;
    double seconds = 3600;
    return host::run_program(
        {"wip_ns3_line", "OpenWIP: a line with bit errors under ns-3's TCP", &tcpl::tcpl_keys(),
         [](config::settings& s) { tcpl::translate(s); },
         [&](config::settings& s) { return run(s, plan, seconds); },
         [&](CLI::App& app) {
             app.add_option("--plan", plan, "file of the flows (JSON)")->required();
             app.add_option("--seconds", seconds, "when a run that does not end is left")
                 ->transform(config::number_in(0.0, 1e6));
         }},
        argc, argv);
}
