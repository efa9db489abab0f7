// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a core stood still: a thread above everything of the slot path wakes on it every
// millisecond and notes how much later than asked it was. The program cannot hold it up, whatever
// it does: a gap is the machine's (its hypervisor, its kernel), or of work of a yet higher
// priority. What a hypervisor takes does not all show as steal, so this is measured.
#pragma once

#include <chrono>
#include <string>

namespace wip::runtime {

inline constexpr int witness_priority = 20;  // the slot path has slot_path_priority
inline constexpr std::chrono::milliseconds witness_period{1};

class standstills {
public:
    using duration = std::chrono::nanoseconds;
    // Gaps of `least` or more count.
    explicit standstills(duration least) : least_(least) {}

    // A wake-up that came so long after its time. Returns how many were to come meanwhile: their
    // times are past, and it would count the same gap twice to wait for them.
    long woke(duration late);

    long count() const { return count_; }
    duration longest() const { return longest_; }
    duration together() const { return together_; }
    // {"least_ms", "count", "longest_ms", "together_ms"}
    std::string json() const;

private:
    duration least_, longest_{}, together_{};
    long count_ = 0;
};

// Watches a core until standard input ends. Throws std::system_error where the thread does not get
// the core or its priority: without, a gap may be anybody's.
standstills watch_core(int core, standstills::duration least);

}  // namespace wip::runtime
