// SPDX-License-Identifier: GPL-3.0-or-later
// The cost of waking a sleeping thread, on one core and across two: the time from a message to its
// answer between two threads that sleep in between, as the processes of the slot path do.
#pragma once

#include <vector>

namespace wip::os {

// Cores that this process may use, ascending.
std::vector<int> usable_cores();

struct wake_up_cost {
    double round_trip_us;  // median
    double processor_us;   // both threads, kernel and user, for a round trip (mean)
};

// Measures `turns` round trips between a thread on core `a` and one on core `b` (may be the same),
// with a pause of `idle_us` before each. Throws machine_error when a core cannot be used.
wake_up_cost measure_wake_up(int a, int b, int turns = 60, int idle_us = 150);

}  // namespace wip::os
