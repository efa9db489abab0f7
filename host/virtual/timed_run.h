// SPDX-License-Identifier: GPL-3.0-or-later
// A run on a calendar: until its traffic is over, and until what it has sent is through.
#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "types/failure.h"

namespace wip::virtual_time {

// A process without descriptors to wait for: a signal or the parent's death ends it, and the kernel
// with it.
inline void end_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

inline std::int64_t to_ns(double seconds) { return std::llround(seconds * 1e9); }

class timed_run {
public:
    timed_run() = default;
    virtual ~timed_run() = default;
    timed_run(const timed_run&) = delete;
    timed_run& operator=(const timed_run&) = delete;

    virtual void go_to(std::int64_t ns) = 0;
    virtual std::int64_t now() const = 0;
    virtual bool over() const = 0;  // whether the traffic is over

    // `look`: every 10 ms from then on, and whenever else the run stops.
    void watch(std::function<void()> look) { look_ = std::move(look); }
    // Goes to this time, whether the traffic is over or not.
    void go_through(std::int64_t ns) {
        while (now() < ns) step_to(look_ ? std::min(now() + look_every_ns, ns) : ns);
    }
    // Goes to this time, or until the traffic is over.
    void go_on(std::int64_t ns) {
        while (now() < ns && !over()) step_to(std::min(now() + look_every_ns, ns));
    }
    // Throws peer_error when it is not over in time.
    void to_result(double longest_s) {
        go_on(to_ns(longest_s));
        if (!over())
            throw peer_error("the run was not over after " + std::to_string(longest_s) + " s");
    }
    // One look at least: an end may just have sent its last packet.
    void drain(const std::function<bool()>& idle) {
        const std::int64_t ended = now();
        do step_to(now() + look_every_ns);
        while (!idle() && now() < ended + longest_drain_ns);
    }

private:
    void step_to(std::int64_t ns) {
        go_to(ns);
        if (look_) look_();
    }

    std::function<void()> look_;
    // Interval at which to check whether the traffic is over.
    static constexpr std::int64_t look_every_ns = 10'000'000;
    // Longest drain after the traffic: everything has arrived or was given up long before.
    static constexpr std::int64_t longest_drain_ns = 60'000'000'000;
};

}  // namespace wip::virtual_time
