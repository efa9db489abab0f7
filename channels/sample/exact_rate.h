// SPDX-License-Identifier: GPL-3.0-or-later
// A sample rate as a ratio of whole numbers, and times at it: a clock and what it is divided by. A
// time is full seconds and a fraction, as UHD has it; the time of sample n is n/rate, rounded once
// to the nearest double, however large n is.
#pragma once

#include <cmath>
#include <cstdint>

namespace wip::sample_model {

// clock / divider samples a second, with a clock that is `parts` x 10^-12 fast.
struct exact_rate {
    std::int64_t clock, divider = 1, parts = 0;
    double hz() const noexcept {
        return static_cast<double>(clock) / static_cast<double>(divider) *
               (1 + 1e-12 * static_cast<double>(parts));
    }
    bool operator==(const exact_rate&) const = default;
};

struct seconds {
    std::int64_t full;
    double fraction;
};

// Time of sample n >= 0 as the clock itself counts it, so that its error (`parts`) has no effect.
inline seconds time_of_sample(std::int64_t n, const exact_rate& rate) noexcept {
    const std::int64_t count = n * rate.divider;
    return {count / rate.clock,
            static_cast<double>(count % rate.clock) / static_cast<double>(rate.clock)};
}
// The sample nearest to that time.
inline std::int64_t sample_of_time(const seconds& t, const exact_rate& rate) noexcept {
    const std::int64_t count = t.full * rate.clock;
    const double rest =
        static_cast<double>(count % rate.divider) + t.fraction * static_cast<double>(rate.clock);
    return count / rate.divider + std::llround(rest / static_cast<double>(rate.divider));
}

}  // namespace wip::sample_model
