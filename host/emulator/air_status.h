// SPDX-License-Identifier: GPL-3.0-or-later
// What the emulator says in the medium's place, whatever the link: pacing, and how late packets
// were handed over.
#pragma once

#include <cstdint>
#include <string>

#include "emulator/emulator_config.h"
#include "runtime/pacing.h"
#include "schema/control.pb.h"
#include "types/grid.h"

namespace wip::emulator {

struct air_state {
    runtime::pacing_summary slots, packets;
    slot next;
    std::int64_t wall_ns;
    double pacing_limit_ms;
    bool realtime_priority;
    int terminals;
};

inline void fill_air(const air_state& a, openwip::control::AirStatus& status) {
    const double wall = static_cast<double>(a.wall_ns) * 1e-9;
    status.set_clock("realtime");
    status.set_speed(1);
    status.set_now(a.next.value * slot_samples);
    status.set_wall_seconds(wall);
    status.set_real_time_factor(
        wall > 0 ? static_cast<double>(a.next.value) / slots_per_second / wall : 0);
    status.set_pacing_median_us(a.slots.median_us);
    status.set_pacing_p99_us(a.slots.p99_us);
    status.set_pacing_p999_us(a.slots.p999_us);
    status.set_pacing_max_us(a.slots.max_us);
    status.set_slots(a.slots.slots);
    status.set_slots_behind(a.slots.behind);
    status.set_pacing_limit_us(a.pacing_limit_ms * 1e3);
    status.set_release_median_us(a.packets.median_us);
    status.set_release_p99_us(a.packets.p99_us);
    status.set_release_p999_us(a.packets.p999_us);
    status.set_release_max_us(a.packets.max_us);
    status.set_released(a.packets.slots);
    status.set_realtime_priority(a.realtime_priority);
    status.add_nodes("base");
    for (int u = 1; u <= a.terminals; ++u)
        status.add_nodes("terminal" + (u == 1 ? "" : std::to_string(u)));
}

}  // namespace wip::emulator
