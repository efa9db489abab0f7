// SPDX-License-Identifier: GPL-3.0-or-later
// How a process kept to the wall clock, in the form of its status.
#pragma once

#include "os/pacing.h"
#include "schema/control.pb.h"

namespace wip::host {

inline void fill_pacing(openwip::control::AirStatus& status, const os::pacing_summary& found,
                        double limit_ms) {
    status.set_pacing_median_us(found.median_us);
    status.set_pacing_p99_us(found.p99_us);
    status.set_pacing_p999_us(found.p999_us);
    status.set_pacing_max_us(found.max_us);
    status.set_slots(found.slots);
    status.set_slots_behind(found.behind);
    status.set_pacing_limit_us(limit_ms * 1e3);
}

}  // namespace wip::host
