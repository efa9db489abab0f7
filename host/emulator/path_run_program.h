// SPDX-License-Identifier: GPL-3.0-or-later
// The common parts of programs whose runs are path_runs: options, and how they begin.
#pragma once

#include <sys/prctl.h>

#include <CLI/CLI.hpp>

#include "config/number_option.h"
#include "emulator/path_run.h"
#include "runtime/privileged_start.h"
#include "virtual/timed_run.h"

namespace wip::emulator {

// `with`: the option without which they make no sense, if there is one.
inline void add_times(CLI::App& app, double& longest_s, run_times& times,
                      CLI::Option* with = nullptr) {
    const auto seconds = [&](const char* name, double& value, const char* help) {
        auto* option = app.add_option(name, value, help);
        option->transform(config::number_in(0.0, 1e6));
        if (with != nullptr) option->needs(with);
    };
    seconds("--first", times.first_s, "seconds of the calendar until the first count");
    seconds("--last", times.last_s, "and until the last");
    seconds("--longest", longest_s, "when a run that does not end is given up");
    auto* packets = app.add_option("--packets", times.packets,
                                   "file of all IP packets at the interfaces (pcap)");
    auto* telemetry =
        app.add_option("--telemetry", times.telemetry, "file of what is told on the way");
    for (auto* option : {packets, telemetry})
        if (with != nullptr) option->needs(with);
}

inline void give_up_rights(const host::privileged_start& start) {
    start.give_up({});
    virtual_time::end_with_parent();
    // A trace is read through /proc/self, which belongs to root after a change of user.
    ::prctl(PR_SET_DUMPABLE, 1);
}

}  // namespace wip::emulator
