// SPDX-License-Identifier: GPL-3.0-or-later
// Threads of a flowgraph inherit its real-time scheduling, and the core of its slot path. A thread
// that is not part of the slot path gives both up with this function.
#pragma once

#include <sched.h>
#include <sys/resource.h>

namespace wip::os {

// Gives the calling thread ordinary priority. `gives_way`: a low one, so that without real-time
// scheduling it does not take the core from the block that wakes it.
inline void may_be_late(bool gives_way) noexcept {
    const sched_param none{};
    ::sched_setscheduler(0, gives_way ? SCHED_BATCH : SCHED_OTHER, &none);
    if (gives_way) ::setpriority(PRIO_PROCESS, 0, 10);
}

}  // namespace wip::os
