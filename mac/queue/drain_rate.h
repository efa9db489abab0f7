// SPDX-License-Identifier: GPL-3.0-or-later
// The rate at which a queue is expected to empty, and the delay that follows from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace wip {

struct drain_rate {
    double bytes_per_ns =
        0;  // 0: nothing is expected, and the time that a packet has waited counts

    static drain_rate of_second(double bytes) { return {std::max(0.0, bytes) * 1e-9}; }
    // The rate of one of so many flows that share it.
    drain_rate shared_by(std::size_t flows) const {
        return {bytes_per_ns / static_cast<double>(std::max<std::size_t>(1, flows))};
    }
    // How long a packet waits that comes to a queue of so many bytes, at most 100 s; or
    // `waited_ns`.
    std::int64_t delay_ns(std::int64_t waited_ns, std::size_t bytes) const {
        if (!(bytes_per_ns > 0)) return waited_ns;
        constexpr double most_ns = 1e11;
        return std::llround(std::min(most_ns, static_cast<double>(bytes) / bytes_per_ns));
    }
};

}  // namespace wip
