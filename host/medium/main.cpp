// SPDX-License-Identifier: GPL-3.0-or-later
// air --config FILE [--check]: the medium between software USRPs. Exit code 0: asked to stop, or
// the configuration is good; 1: a node died or the machine refused something; 2: bad configuration.
#include <getopt.h>
#include <signal.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "air/medium.h"
#include "medium/air_config.h"
#include "medium/controlled_medium.h"
#include "peer/endpoint.h"
#include "runtime/privileges.h"
#include "runtime/process.h"
#include "runtime/realtime.h"
#include "trace/played_trace.h"

namespace {

wip::air::medium* running = nullptr;
volatile sig_atomic_t signalled = 0;

void on_signal(int) {
    signalled = 1;
    if (running) running->stop();
}

void say(const std::string& line) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::fprintf(stderr, "air: %s\n", line.c_str());
}

// Segment and socket go with it, so that they can be removed at the end.
void give_up_root(const wip::air::medium_config& config) {
    if (config.user.empty()) return;
    const auto account = wip::runtime::find_account(config.user).value();
    wip::runtime::hand_over(
        {"/dev/shm/openwip-air-" + config.name, wip::peer::socket_path(config.control)}, account);
    wip::runtime::drop_privileges(account);
    wip::host::follow_parent();  // lost with the user
}

int run(const std::string& file, bool check) {
    using namespace wip::air;
    const medium_config config = read_config_file(file, wip::trace::played_traces());
    if (check) return 0;
    std::vector<std::string> names;
    for (const node_config& n : config.nodes) names.push_back(n.name);
    const auto memory = shared_air::create(config.name, names, config.clock, config.speed);
    if (memory->cleaned()) say("removed what a killed medium '" + config.name + "' had left");
    medium m(*memory, config, say);
    running = &m;
    if (signalled) m.stop();
    std::mutex mutex;
    std::string asked;
    std::unique_ptr<control_server> control;
    if (!config.control.empty())
        control = std::make_unique<control_server>(controlled_medium(config, m), say,
                                                   [&](const std::string& why) {
                                                       const std::lock_guard lock(mutex);
                                                       asked = why.empty() ? "asked to stop" : why;
                                                       m.stop();
                                                   });
    // All that takes rights is made. The priority first: what a process has it keeps.
    if (config.priority > 0) wip::runtime::use_realtime(config.priority);
    give_up_root(config);
    say("medium '" + config.name + "' ready");
    const std::string dead = m.run();
    control.reset();  // answers the request to stop before it goes
    running = nullptr;
    if (!dead.empty()) {
        say(dead);
        return wip::host::exit_failed;
    }
    const std::string why = wip::host::reason_to_stop();
    say(!asked.empty() ? "stopping: " + asked : why);
    return asked.empty() && why != wip::host::asked_to_stop ? wip::host::exit_failed
                                                            : wip::host::exit_asked;
}

}  // namespace

int main(int argc, char** argv) {
    // Two options: not worth the quarter of a minute that a compiler takes over CLI11.
    const option options[] = {{"config", required_argument, nullptr, 'c'},
                              {"check", no_argument, nullptr, 'k'},
                              {"help", no_argument, nullptr, 'h'},
                              {nullptr, 0, nullptr, 0}};
    std::string file;
    bool check = false;
    for (int found; (found = getopt_long(argc, argv, "h", options, nullptr)) != -1;) {
        if (found == 'h') {
            std::puts(
                "usage: air --config FILE [--check]\n\nThe medium between software USRPs, "
                "configured by a YAML file.\n--check: check configuration and trace files, and "
                "end.");
            return 0;
        }
        if (found == '?') return wip::host::exit_bad_input;  // getopt has said why
        if (found == 'k')
            check = true;
        else
            file = optarg;
    }
    if (file.empty() || optind != argc) {
        say(optind != argc ? std::string("unexpected argument ") + argv[optind]
                           : "--config FILE is missing");
        return wip::host::exit_bad_input;
    }
    // No descriptor as of the others: the thread of the medium waits for stations, not for one.
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaction(s, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
    wip::host::follow_parent();
    try {
        return run(file, check);
    } catch (const std::exception& e) {
        say(e.what());
        const int code = wip::config::exit_code_of(e);  // asked to stop while it read a trace?
        return signalled && code == wip::host::exit_bad_input ? wip::host::exit_asked : code;
    }
}
