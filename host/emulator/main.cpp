// SPDX-License-Identifier: GPL-3.0-or-later
// wip_emulator: the cell of the Wireless IP downlink between two network interfaces, in real time.
// Start order as in macd: configuration, interfaces, sockets, then privileges are given up, and
// only then anything is read from outside.
#include <sched.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "app/process.h"
#include "emulator/emulator_process.h"
#include "emulator/generator.h"

namespace {

using namespace wip;
using namespace wip::emulator;

struct arguments {
    std::string config_file;
    std::vector<std::string> assignments;
    bool print_config = false;
    bool describe_config = false;
    bool check = false;
    bool generate = false;
    generator_config generator;
};

int complain(const std::string& why) {
    std::fprintf(stderr, "wip_emulator: %s\n", why.c_str());
    return host::exit_bad_input;
}

// So that a busy machine does not keep the slots waiting; threads made later do not inherit it. The
// kernel may refuse (containers): the report says which it was.
bool ask_for_realtime_priority() {
    const sched_param p{.sched_priority = 10};
    return ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0;
}

int run(const arguments& args) {
    config::settings settings(emulator_keys());
    if (!args.config_file.empty()) settings.merge_file(args.config_file);
    for (const auto& a : args.assignments) settings.merge_assignment(a);
    const emulator_config config = translate(settings);
    if (args.print_config) {
        std::fputs(settings.to_yaml().c_str(), stdout);
        return 0;
    }
    if (args.check) {
        make_sources(config);
        return 0;
    }
    if (args.generate) {
        generate(config, args.generator, std::cout);
        return 0;
    }
    const auto account = host::find_account(config.user);
    if (!account) throw settings.refuse("user", "there is no such user");

    const int signals = host::make_signal_descriptor();
    host::follow_parent();
    host::forbid_new_privileges();
    ::umask(0077);
    zmq::context_t context(1);
    emulator_process process(context, settings, config);
    const bool realtime = ask_for_realtime_priority();
    host::hand_over(process.bound_paths(), *account);
    host::drop_privileges(*account);
    host::follow_parent();
    spdlog::info("{}: emulator is up, {} priority; effective configuration:\n{}", config.name,
                 realtime ? "real-time" : "normal", settings.to_yaml());
    return process.run(signals, realtime);
}

}  // namespace

int main(int argc, char** argv) {
    spdlog::set_default_logger(spdlog::stderr_logger_st("emulator"));
    spdlog::set_pattern("wip_emulator: %l: %v");
    arguments args;
    CLI::App app{"OpenWIP: the bin-level emulator of the downlink"};
    app.add_option("--config", args.config_file, "YAML configuration")->type_name("FILE");
    app.add_option("--set", args.assignments, "a setting over the file, repeatable")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->take_all();
    app.add_flag("--print-config", args.print_config, "print the effective configuration and end");
    app.add_flag("--describe-config", args.describe_config, "print the table of all keys and end");
    app.add_flag("--check", args.check, "check configuration, channel and trace file, and end");
    auto* generator =
        app.add_option("--generate", args.generator.seconds,
                       "virtual time: so many seconds of full queues, JSON on standard output");
    generator->check(CLI::Range(0.01, 1e6));
    app.add_option("--warm-up", args.generator.warm_up_seconds, "seconds before the first count")
        ->check(CLI::Range(0.0, 1e5));
    app.add_option("--packet-bytes", args.generator.packet_bytes, "size of an IP packet")
        ->check(CLI::Range(32, 1500));
    app.add_option("--packets-per-second", args.generator.rate_pps,
                   "of each terminal, instead of full queues")
        ->check(CLI::Range(1, 1000000));
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& e) {
        return app.exit(e);
    } catch (const CLI::ParseError& e) {
        return complain(e.what());
    }
    args.generate = generator->count() > 0;
    if (args.describe_config) {
        std::fputs(config::to_markdown(emulator_keys()).c_str(), stdout);
        return 0;
    }
    try {
        return run(args);
    } catch (const std::exception& e) {
        return complain(e.what());
    }
}
