// SPDX-License-Identifier: GPL-3.0-or-later
// wip_emulator: the cell of the Wireless IP downlink between two network interfaces, in real time,
// or between those of a Linux kernel in virtual time.
// Start order as in macd: configuration, interfaces, sockets, then privileges are given up, and
// only then anything is read from outside.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "config/number_option.h"
#include "emulator/delayed_path.h"
#include "emulator/emulator_process.h"
#include "emulator/generator.h"
#include "emulator/link_pair.h"
#include "emulator/path_run_program.h"
#include "emulator/virtual_run.h"
#include "os/realtime.h"
#include "runtime/privileged_start.h"
#include "runtime/process.h"
#include "runtime/program.h"
#include "sample/distinct_streams.h"

namespace {

using namespace wip;
using namespace wip::emulator;

struct modes {
    CLI::Option* generate = nullptr;  // given: virtual time
    generator_config generator;
    virtual_config kernel;
};

void check_channel(config::settings& settings) {
    const sample_model::distinct_streams streams;
    const emulator_config config = translate(settings);
    extension::check_files(config.rules);
    if (config.kind == link_kind::trace) make_links(config);  // it reads its files
    if (config.kind != link_kind::ofdm) return;
    cell_path path(config);
    // The user's own code runs as who the process of a run becomes.
    host::become(settings, config.user);
    path.load_rules(config);
}

int run(config::settings& settings, const modes& mode) {
    const emulator_config config = translate(settings);
    extension::check_files(config.rules);
    if (mode.generate->count() > 0) {
        const sample_model::distinct_streams streams;
        generate(config, mode.generator, std::cout);
        return 0;
    }
    const bool in_virtual_time = !mode.kernel.run.kernel.empty();
    // Virtual time needs no rights, so a user other than root is kept.
    const bool stays = in_virtual_time && ::geteuid() != 0;
    const host::privileged_start start(settings, stays ? std::string() : config.user);
    if (in_virtual_time) {
        give_up_rights(start);
        run_virtual(config, mode.kernel, std::cout);
        return 0;
    }
    const sample_model::distinct_streams streams;
    zmq::context_t context(1);
    const auto process = make_process(context, settings, config);
    const bool realtime = os::use_realtime();
    start.give_up(process->bound_paths());
    spdlog::info("{}: emulator is up, {} priority; effective configuration:\n{}", config.name,
                 realtime ? "real-time" : "normal", settings.to_yaml());
    return host::run_to_its_end([&] { return process->run(start.signals(), realtime); });
}

void add_options(CLI::App& app, modes& mode) {
    mode.generate =
        app.add_option("--generate", mode.generator.seconds,
                       "virtual time: so many seconds of full queues, JSON on standard output");
    mode.generate->transform(config::number_in(0.01, 1e6));
    app.add_option("--warm-up", mode.generator.warm_up_seconds, "seconds before the first count")
        ->transform(config::number_in(0.0, 1e5));
    app.add_option("--packet-bytes", mode.generator.packet_bytes, "size of an IP packet")
        ->transform(config::number_in(32, 1500));
    app.add_option("--packets-per-second", mode.generator.rate_pps,
                   "of each terminal, instead of full queues")
        ->transform(config::number_in(1, 1000000));
    auto& k = mode.kernel;
    auto* kernel =
        app.add_option("--kernel", k.run.kernel,
                       "virtual time with this User Mode Linux, JSON on standard output");
    app.add_option("--folder", k.run.folder, "its root file system, with its plan")->needs(kernel);
    kernel->needs("--folder");
    auto* memory = app.add_option("--memory-mb", k.run.memory_mb, "the kernel's memory");
    memory->transform(config::number_in(16, 4096))->needs(kernel);
    kernel->needs(memory);
    add_times(app, k.run.longest_s, k.times, kernel);
}

}  // namespace

int main(int argc, char** argv) {
    modes mode;
    return host::run_program({"wip_emulator", "OpenWIP: the bin-level emulator of the downlink",
                              &emulator_keys(), [](config::settings& s) { translate(s); },
                              [&mode](config::settings& s) { return run(s, mode); },
                              [&mode](CLI::App& app) { add_options(app, mode); }, check_channel},
                             argc, argv);
}
