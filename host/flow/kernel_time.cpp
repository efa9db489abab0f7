// SPDX-License-Identifier: GPL-3.0-or-later
#include "flow/kernel_time.h"

#include <cstring>
#include <ctime>
#include <limits>

#include "flow/sockets.h"
#include "flow/tell.h"

namespace wip::flow {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t quick_ns = 1000;  // a shorter reading was not interrupted by another process

std::int64_t read_ns(clockid_t clock) {
    timespec t = {};
    ::clock_gettime(clock, &t);
    return t.tv_sec * second_ns + t.tv_nsec;
}

}  // namespace

void stamp_arrivals(int s) {
    const int on = 1;
    if (::setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0) give_up("SO_TIMESTAMPNS");
}

std::int64_t realtime_ahead_ns(const std::function<std::int64_t()>& monotonic,
                               const std::function<std::int64_t()>& realtime) {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), difference = 0;
    for (int i = 0; i < 10 && least >= quick_ns; ++i) {
        const std::int64_t before = monotonic(), real = realtime(), after = monotonic();
        if (after - before >= least) continue;
        least = after - before;
        difference = real - (before + after) / 2;
    }
    return difference;
}

double arrival_of(msghdr& message) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
        timespec t = {};
        std::memcpy(&t, CMSG_DATA(c), sizeof t);
        const std::int64_t ahead = realtime_ahead_ns([] { return read_ns(CLOCK_MONOTONIC); },
                                                     [] { return read_ns(CLOCK_REALTIME); });
        return 1e-9 * static_cast<double>(t.tv_sec * second_ns + t.tv_nsec - ahead);
    }
    return now();
}

}  // namespace wip::flow
