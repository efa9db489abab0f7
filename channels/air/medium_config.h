// SPDX-License-Identifier: GPL-3.0-or-later
// The configuration of a medium. Values are already checked by air_config (or set by a program).
#pragma once

#include <cstdint>
#include <string>

#include "air/layout.h"
#include "mix/mix_config.h"
#include "os/realtime.h"
#include "types/setting_limits.h"

namespace wip::air {

using mix::channel_request;
using mix::max_delay_samples;
using mix::node_config;
using mix::path_config;
using mix::shadowing_request;

inline constexpr std::int64_t realtime_quantum = 2560;

struct medium_config : mix::mix_config {
    std::string name = "air";
    clock_kind clock = clock_kind::lockstep;
    double speed = 1;  // 0: as fast as the stations can
    int wait_transmitters = 0;
    int wait_receivers = 0;
    bool stations_may_die = false;  // false: the medium ends when the first one dies
    std::string control;            // endpoint, empty: none
    std::string fader;  // control endpoint of the process with the channel; empty: this medium
    double pacing_limit_ms = setting::air_pacing_limit_ms.initial;
    // Samples released at a time: one slot, or half a slot with the realtime clock.
    std::int64_t quantum = setting::air_quantum.initial;
    // SCHED_FIFO priority of the medium's thread, if allowed; 0: unchanged. It is below that of the
    // stations, so that a station that a released slot wakes runs first, and the next slot is
    // computed while the stations wait.
    int priority = os::slot_path_priority - 1;
    std::string user;  // account that a medium started by root changes to; empty: it stays root
};

}  // namespace wip::air
