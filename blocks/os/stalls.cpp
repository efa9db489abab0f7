// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/stalls.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "os/realtime.h"
#include "types/descriptor.h"
#include "types/failure.h"

namespace wip::os {

namespace {

constexpr std::uint64_t wakes_between_polls = 50;  // wake-ups between two polls of standard input

void check(int error, const char* what) {
    if (error != 0) throw machine_error(what, error);
}

// Whether standard input has ended. Nothing is ever written there, so it is readable only at its
// end.
bool input_ended() {
    pollfd p{STDIN_FILENO, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

}  // namespace

void stalls::sums::add(duration gap) {
    ++count;
    together += gap;
    longest = std::max(longest, gap);
}

long stalls::woke(duration late, duration ready) {
    if (late >= least_) {
        all_.add(late);
        if (2 * ready > late) held_back_.add(late);
    }
    return std::max<long>(0, late / stall_monitor_period);
}

std::optional<stalls::duration> ready_without_core() {
    const descriptor file(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    char text[80] = {};
    if (file.get() < 0 || ::read(file.get(), text, sizeof text - 1) <= 0) return {};
    long long ran = 0, ready = 0;  // ns
    if (std::sscanf(text, "%lld %lld", &ran, &ready) != 2) return {};
    return std::chrono::nanoseconds(ready);
}

stalls watch_core(int core, stalls::duration least) {
    if (core < 0 || core >= CPU_SETSIZE) check(EINVAL, "core");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    check(::pthread_setaffinity_np(::pthread_self(), sizeof set, &set), "core");
    if (!use_realtime(stall_monitor_priority)) check(EPERM, "real-time priority");
    stalls found(least);
    using clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
    auto ready_before = ready_without_core().value_or(stalls::duration{});
    auto due = clock::now();
    for (std::uint64_t wakes = 0;; ++wakes) {
        due += stall_monitor_period;
        const auto since = std::chrono::duration_cast<stalls::duration>(due.time_since_epoch());
        const timespec at{.tv_sec = static_cast<time_t>(since.count() / 1'000'000'000),
                          .tv_nsec = static_cast<long>(since.count() % 1'000'000'000)};
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
        }
        const auto late = clock::now() - due;
        const bool polls = wakes % wakes_between_polls == 0;
        stalls::duration ready{};
        if (polls || late >= stall_monitor_period) {
            const auto now = ready_without_core().value_or(stalls::duration{});
            ready = now - std::exchange(ready_before, now);
        }
        due += found.woke(late, ready) * stall_monitor_period;
        if (polls && input_ended()) return found;
    }
}

}  // namespace wip::os
