// SPDX-License-Identifier: GPL-3.0-or-later
// A sample rate as a ratio of whole numbers, and times at it: a clock and what it is divided by. A
// time is full seconds and a fraction, as UHD has it; sample n of a rate is at n/rate, exactly the
// double that is nearest to it, however late.
#pragma once

#include <cmath>
#include <cstdint>

namespace wip::sample_model {

// clock / divider samples a second by a clock that is `parts` of 10^12 fast.
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

// Time of sample n by the clock itself, whose error does not matter. n >= 0.
inline seconds time_of_sample(std::int64_t n, const exact_rate& rate) noexcept {
    const std::int64_t count = n * rate.divider;
    return {count / rate.clock,
            static_cast<double>(count % rate.clock) / static_cast<double>(rate.clock)};
}
// The nearest sample.
inline std::int64_t sample_of_time(const seconds& t, const exact_rate& rate) noexcept {
    const std::int64_t count = t.full * rate.clock;
    const double rest =
        static_cast<double>(count % rate.divider) + t.fraction * static_cast<double>(rate.clock);
    return count / rate.divider + std::llround(rest / static_cast<double>(rate.divider));
}

}  // namespace wip::sample_model
