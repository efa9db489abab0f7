// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/wake_up_cost.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <thread>

#include "os/realtime.h"
#include "types/failure.h"

namespace wip::os {
namespace {

using word = std::atomic<int>;

void futex(word& w, int operation, int value) {
    ::syscall(SYS_futex, &w, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

double clock_us(clockid_t clock) {
    timespec t{};
    ::clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

int pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(core), &set);
    const int error = ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
    // The thread has the slot path's priority, or none if that is not granted, as the slot path
    // then has none.
    const sched_param p{.sched_priority = slot_path_priority};
    ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &p);
    return error;
}

void check(int error) {
    if (error != 0) throw machine_error("cannot place a thread on a core", error);
}

void wait_while(word& w, int value) {
    while (w.load() == value) futex(w, FUTEX_WAIT, value);
}

}  // namespace

std::vector<int> usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    std::vector<int> cores;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int c = 0; c < CPU_SETSIZE; ++c)
        if (CPU_ISSET(static_cast<std::size_t>(c), &set)) cores.push_back(c);
    return cores;
}

wake_up_cost measure_wake_up(int a, int b, int turns, int idle_us) {
    alignas(64) word question{0};
    alignas(64) word answer{0};
    std::atomic<int> error{0};
    double answering_us = 0;
    std::thread other([&] {
        error.store(pin(b));
        for (int i = 0; i < turns; ++i) {
            wait_while(question, i);
            answer.store(i + 1);
            futex(answer, FUTEX_WAKE, 1);
        }
        answering_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    });
    std::vector<double> times;
    double asking_us = 0;
    std::thread asker([&] {
        if (const int e = pin(a)) error.store(e);
        for (int i = 0; i < turns; ++i) {
            const timespec pause{0, idle_us * 1000L};
            ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
            const double begin = clock_us(CLOCK_MONOTONIC);
            question.store(i + 1);
            futex(question, FUTEX_WAKE, 1);
            wait_while(answer, i);
            times.push_back(clock_us(CLOCK_MONOTONIC) - begin);
        }
        asking_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
    });
    asker.join();
    other.join();
    check(error.load());
    std::nth_element(times.begin(), times.begin() + turns / 2, times.end());
    return {times[static_cast<std::size_t>(turns / 2)], (asking_us + answering_us) / turns};
}

}  // namespace wip::os
