// SPDX-License-Identifier: GPL-3.0-or-later
// When the kernel received a packet, by CLOCK_MONOTONIC: a process has to be woken before it can
// read a clock itself.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>

namespace wip::flow {

void stamp_arrivals(int s);

// The time stamp of a message that came with one; otherwise now.
double arrival_of(msghdr& message);

// CLOCK_REALTIME less CLOCK_MONOTONIC, ns, of readings of both. A process that loses the processor
// between two readings would put that time into the difference: of up to ten readings the one that
// took least counts, to half of what it took.
std::int64_t realtime_ahead_ns(const std::function<std::int64_t()>& monotonic,
                               const std::function<std::int64_t()>& realtime);

}  // namespace wip::flow
