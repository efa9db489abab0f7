// SPDX-License-Identifier: GPL-3.0-or-later
// Every process that has a table of settings, with what makes its structs of them: for tests that
// give all of them everything.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emulator/emulator_config.h"
#include "macd/macd_config.h"
#include "observer/observer_config.h"
#include "split/split_config.h"
#include "tcpl/tcpl_config.h"

namespace wip::test {

struct configured_process {
    const char* name;
    const std::vector<config::key>* keys;
    std::function<void(config::settings&)> translate;
    std::vector<std::string> always{};  // settings without a default
};

inline std::vector<configured_process> configured_processes() {
    return {
        {"base station", &host::macd_keys(), [](auto& s) { host::translate(s); }, {"role=base"}},
        {"terminal", &host::macd_keys(), [](auto& s) { host::translate(s); }, {"role=terminal"}},
        {"emulator", &emulator::emulator_keys(),
         [](auto& s) { emulator::make_sources(emulator::translate(s)); }},
        {"emulator with fading",
         &emulator::emulator_keys(),
         [](auto& s) { emulator::make_sources(emulator::translate(s)); },
         {"channel.model=flat"}},
        {"observer", &observer::observer_keys(), [](auto& s) { observer::translate(s); }},
        {"split", &split::split_keys(), [](auto& s) { split::translate(s); }},
        {"tcpl", &tcpl::tcpl_keys(), [](auto& s) { tcpl::translate(s); }, {"receiver.tun=wip1"}}};
}

// The defaults of the process, and values for required settings.
inline config::settings started(const configured_process& p) {
    config::settings s(*p.keys);
    for (const auto& a : p.always) s.merge_assignment(a);
    return s;
}

}  // namespace wip::test
