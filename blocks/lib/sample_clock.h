// SPDX-License-Identifier: GPL-3.0-or-later
// Sample time of the items of a GNU Radio stream. gr-uhd tags rx_time only where the count starts
// or jumps (first packet, after an overflow, after a retune), so in between the items are counted.
// Exact: a time is full seconds and a fraction, and the fraction of a sample time at 7.68 MS/s is a
// multiple of 1/7680000 that a double keeps apart from its neighbours with room to spare.
#pragma once

#include <cmath>
#include <cstdint>

#include "types/grid.h"

namespace wip {

// Longest time in seconds whose samples can be counted (35 thousand years); a larger number is not
// a time.
inline constexpr std::uint64_t longest_time_s = std::uint64_t{1} << 40;

constexpr sample sample_of_time(std::uint64_t full, std::int64_t fraction_samples) {
    return sample(static_cast<std::int64_t>(full) * sample_rate_hz + fraction_samples);
}
inline sample sample_of_time(std::uint64_t full, double fraction) {
    return sample_of_time(full, static_cast<std::int64_t>(
                                    std::llround(fraction * static_cast<double>(sample_rate_hz))));
}

// A time among the samples: the nearest one, and by how much of a sample, -0.5 to 0.5, the time is
// later.
struct sample_time {
    sample nearest;
    double later = 0;
};
inline sample_time sample_time_of(std::uint64_t full, double fraction) {
    const double samples = fraction * static_cast<double>(sample_rate_hz);
    const sample nearest = sample_of_time(full, fraction);
    return {nearest, samples - static_cast<double>((nearest - sample_of_time(full, 0.0)).value)};
}

struct split_time {
    std::uint64_t full;
    double fraction;
};
// The time of sample s >= 0.
constexpr split_time time_of_sample(sample s) {
    return {static_cast<std::uint64_t>(s.value / sample_rate_hz),
            static_cast<double>(s.value % sample_rate_hz) / static_cast<double>(sample_rate_hz)};
}

constexpr std::int64_t nanoseconds_of(sample_count n) {
    return n.value * 3125 / 24;  // 10^9 / 7.68e6
}

class sample_clock {
public:
    // Item 0 has the time `first` until a tag sets another time.
    explicit sample_clock(sample first) : base_(first) {}

    sample at(std::uint64_t item) const {
        return base_ + sample_count(static_cast<std::int64_t>(item - base_item_));
    }
    // The part of a sample by which the items are later than at().
    double later() const { return later_; }
    // Sets the time of an item. Returns true when samples are missing (or repeated) before it,
    // which is never so for the first tag: that is the beginning of the stream.
    bool set(std::uint64_t item, sample_time time) {
        const bool jump = tagged_ && at(item) != time.nearest;
        base_ = time.nearest;
        later_ = time.later;
        base_item_ = item;
        tagged_ = true;
        return jump;
    }

private:
    sample base_;
    double later_ = 0;
    std::uint64_t base_item_ = 0;
    bool tagged_ = false;
};

}  // namespace wip
