// SPDX-License-Identifier: GPL-3.0-or-later
// wip_ns3: the emulator's links with ns-3's TCP at both their ends, without clock, interfaces or
// rights. The configuration is the emulator's.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "emulator/emulator_config.h"
#include "emulator/path_run_program.h"
#include "runtime/privileged_start.h"
#include "runtime/program.h"
#include "simulator/simulation.h"

namespace {

using namespace wip;

int run(config::settings& settings, const simulator::run_config& r) {
    const emulator::emulator_config config = emulator::translate(settings);
    const host::privileged_start start(settings, ::geteuid() != 0 ? std::string() : config.user);
    emulator::give_up_rights(start);
    simulator::run_simulation(config, r, std::cout);
    return host::exit_asked;
}

void add_options(CLI::App& app, simulator::run_config& r) {
    app.add_option("--plan", r.plan, "file of the flows (JSON)")->required();
    emulator::add_times(app, r.longest_s, r.times);
}

}  // namespace

int main(int argc, char** argv) {
    simulator::run_config r;
    return host::run_program(
        {"wip_ns3", "OpenWIP: the emulator's links under ns-3's TCP", &emulator::emulator_keys(),
         [](config::settings& s) { emulator::translate(s); },
         [&r](config::settings& s) { return run(s, r); },
         [&r](CLI::App& app) { add_options(app, r); }},
        argc, argv);
}
