// SPDX-License-Identifier: GPL-3.0-or-later
// A flowgraph with real-time scheduling hands it on to its threads, on the core of its slot path.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace wip::os {

// The calling thread can be late. `gives_way`: where there is no real-time scheduling it must not
// take the core from the block that wakes it.
inline void may_be_late(bool gives_way) noexcept {
    const sched_param none{};
    ::sched_setscheduler(0, gives_way ? SCHED_BATCH : SCHED_OTHER, &none);
    if (gives_way) ::setpriority(PRIO_PROCESS, 0, 10);
}

}  // namespace wip::os
