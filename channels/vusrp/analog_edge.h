// SPDX-License-Identifier: GPL-3.0-or-later
// Models the errors of a front end that are not in its filters: gains that differ from their
// settings in level and phase, DC offset and image that the radio tracks in steps, the rise of a
// transmitter's level at the start of a burst, the frequency wander of an oscillator. Every value
// is a function of a key and of the absolute sample index, so that two runs are the same. It does
// not depend on UHD; devices.yaml has the values of each product.
#pragma once

#include <atomic>
#include <complex>
#include <cstdint>
#include <memory>
#include <span>

#include "types/db.h"
#include "vusrp/product.h"

namespace wip::vusrp {

using cf32 = std::complex<float>;

// The real gain of a front end: level, and phase in turns (-0.5 to 0.5).
struct actual_gain {
    db level;
    double turns;
};
// The error of the gain setting `gain` of the radio and channel that `key` names; within the
// limits.
actual_gain error_of_gain(const gain_error_limits& limits, std::uint32_t key, double gain);
// Interpolates between two gains (part 0 to 1); the phase takes the shorter way around the circle.
actual_gain between(const actual_gain& from, const actual_gain& to, double part);

// The frequency deviation of an oscillator as a function of the seconds since the start of the
// clock: aging, warming up after power-on, and the temperature of the room (a sine). The values are
// drawn with `key`, within the limits.
class oscillator_wander {
public:
    oscillator_wander(const wander_limits& limits, std::uint32_t key);
    double parts(double seconds) const;  // deviation, 1e-6 is 1 ppm
    // Integral of the deviation; times the carrier frequency it is the phase in turns.
    double turned_seconds(double seconds) const;

    static constexpr double warm_up_s = 150, temperature_period_s = 1200;

private:
    double aging_, warm_up_, temperature_, phase_;
};

// Turns samples by the phase of a carrier's wander; `sign` is 1 for a transmitter, -1 for a
// receiver.
class wander_stage {
public:
    wander_stage(const wander_limits& limits, std::uint32_t key, double sample_rate, int sign,
                 std::shared_ptr<const std::atomic<double>> carrier_hz);
    void work(std::int64_t first, std::span<cf32> x) const noexcept;

private:
    oscillator_wander wander_;
    double rate_, sign_;
    std::shared_ptr<const std::atomic<double>> carrier_hz_;
};

// y = a x + b conj(x) + c, with the image b and the DC offset c. Both have a constant part, and the
// residue of the radio's tracking, which changes after each interval.
class tracked_errors {
public:
    tracked_errors(const front_end& front, const tracking_steps& steps, std::uint32_t key,
                   double sample_rate);
    void work(std::int64_t first, std::span<cf32> x) noexcept;

    struct residue {
        std::complex<double> dc, image;
    };
    residue at(std::int64_t step) const noexcept;  // in the interval with this number

private:
    tracking_steps steps_;
    std::uint32_t key_;
    std::int64_t interval_;  // samples
    std::complex<double> dc_, image_;
};

// Shapes the start of a burst by a raised cosine over `samples` samples, which begins after the
// delay of the filters.
class burst_ramp {
public:
    burst_ramp(std::int64_t samples, std::int64_t delay)
        : samples_(samples), delay_(delay), done_(samples) {}
    void begin() noexcept { done_ = -delay_; }
    void work(std::span<cf32> x) noexcept;

private:
    std::int64_t samples_, delay_, done_;
};

}  // namespace wip::vusrp
