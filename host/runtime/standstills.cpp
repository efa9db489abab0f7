// SPDX-License-Identifier: GPL-3.0-or-later
#include "runtime/standstills.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "runtime/realtime.h"

namespace wip::runtime {

namespace {

constexpr std::uint64_t wakes_between_looks = 50;  // at standard input

void check(int error, const char* what) {
    if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

// Nothing is ever written there: readable is its end.
bool input_ended() {
    pollfd p{STDIN_FILENO, POLLIN, 0};
    return ::poll(&p, 1, 0) > 0;
}

double ms(standstills::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

long standstills::woke(duration late) {
    if (late >= least_) {
        ++count_;
        together_ += late;
        longest_ = std::max(longest_, late);
    }
    return std::max<long>(0, late / witness_period);
}

std::string standstills::json() const {
    char text[160];
    std::snprintf(text, sizeof text,
                  "{\"least_ms\": %g, \"count\": %ld, \"longest_ms\": %.3f, \"together_ms\": %.3f}",
                  ms(least_), count_, ms(longest_), ms(together_));
    return text;
}

standstills watch_core(int core, standstills::duration least) {
    if (core < 0 || core >= CPU_SETSIZE) check(EINVAL, "core");
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    check(::pthread_setaffinity_np(::pthread_self(), sizeof set, &set), "core");
    if (!use_realtime(witness_priority)) check(EPERM, "real-time priority");
    ::mlockall(MCL_CURRENT |
               MCL_FUTURE);  // a page that is fetched is no standstill; else: as it is
    standstills found(least);
    using clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
    auto due = clock::now();
    for (std::uint64_t wakes = 0;; ++wakes) {
        due += witness_period;
        const auto since =
            std::chrono::duration_cast<standstills::duration>(due.time_since_epoch());
        const timespec at{.tv_sec = static_cast<time_t>(since.count() / 1'000'000'000),
                          .tv_nsec = static_cast<long>(since.count() % 1'000'000'000)};
        while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
        }
        due += found.woke(clock::now() - due) * witness_period;
        if (wakes % wakes_between_looks == 0 && input_ended()) return found;
    }
}

}  // namespace wip::runtime
