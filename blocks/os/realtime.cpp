// SPDX-License-Identifier: GPL-3.0-or-later
#include "os/realtime.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "os/memory_lock.h"

namespace wip::os {
namespace {

std::atomic<pid_t> realtime_thread{0};
std::atomic<bool> priority_lost{false};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// The handler of SIGXCPU, which may run in any thread.
void drop_priority(int) {
    const sched_param none{.sched_priority = 0};
    ::sched_setscheduler(realtime_thread.load(), SCHED_OTHER, &none);
    priority_lost.store(true);
}

}  // namespace

bool use_realtime(int priority) noexcept {
    lock_memory();
    realtime_thread.store(static_cast<pid_t>(::syscall(SYS_gettid)));
    struct sigaction action {};
    action.sa_handler = drop_priority;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGXCPU, &action, nullptr);
    rlimit limit{};
    ::getrlimit(RLIMIT_RTTIME, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, longest_run_ms * 1000);
    ::setrlimit(RLIMIT_RTTIME, &limit);
    const sched_param p{.sched_priority = priority};
    const bool granted = ::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p) == 0;
    if (!granted) realtime_thread.store(0);
    return granted;
}

bool realtime_was_taken() noexcept { return priority_lost.load(); }

}  // namespace wip::os
