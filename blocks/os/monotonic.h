// SPDX-License-Identifier: GPL-3.0-or-later
// CLOCK_MONOTONIC in nanoseconds: the one clock of processes of this machine.
#pragma once

#include <cstdint>
#include <ctime>

namespace wip::os {

inline std::int64_t monotonic_ns() noexcept {
    timespec ts{};
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * std::int64_t{1'000'000'000} + ts.tv_nsec;
}

}  // namespace wip::os
