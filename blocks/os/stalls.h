// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a core stalled: a thread above everything of the slot path wakes on it every millisecond
// and records how late that was. The program cannot delay it, so a gap is caused by the machine
// (its hypervisor, its kernel) or by work of a still higher priority. Not all time that a
// hypervisor takes is counted as steal time, so it is measured here.
//
// To find the cause of a gap: the kernel counts how long a thread was ready to run and had no core
// (schedstat). If the whole machine stalled, nothing woke the thread either, and it was not ready.
// If it was ready for more than half of the gap, the kernel caused it: the kernel held back all
// real-time work of the core, as it does when that has used up its share of the period
// (sched_rt_runtime_us; from Linux 6.12 on, when ordinary tasks starve), or something of a higher
// priority had the core.
#pragma once

#include <chrono>
#include <optional>

namespace wip::os {

inline constexpr int stall_monitor_priority = 20;  // the slot path has slot_path_priority
inline constexpr std::chrono::milliseconds stall_monitor_period{1};

class stalls {
public:
    using duration = std::chrono::nanoseconds;
    // Gaps of `least` or more count.
    explicit stalls(duration least) : least_(least) {}

    // Notes a wake-up that came `late` after its time; for `ready` of that the thread was ready.
    // Returns how many wake-ups were due meanwhile. Waiting for those would count the same gap
    // twice.
    long woke(duration late, duration ready = {});

    long count() const { return all_.count; }
    struct sums {
        long count = 0;
        duration longest{}, together{};
        void add(duration gap);
    };
    duration least() const { return least_; }
    const sums& all() const { return all_; }
    // The stalls in which the thread was ready.
    const sums& held_back() const { return held_back_; }

private:
    duration least_;
    sums all_, held_back_;
};

// How long the calling thread has been ready without a core, since it was made; nullopt where the
// kernel does not count that.
std::optional<stalls::duration> ready_without_core();

// Watches a core until standard input ends. Throws machine_error where the thread does not get the
// core or its priority: without these, a gap may have any cause.
stalls watch_core(int core, stalls::duration least);

}  // namespace wip::os
