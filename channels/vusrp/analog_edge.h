// SPDX-License-Identifier: GPL-3.0-or-later
// Models the changing and inexact parts of a front end, besides its filters: gain settings that are
// off in level and phase, DC offset and image that are tracked in steps, a transmitter that comes
// up, an oscillator that wanders. Every value is a function of a key and of the absolute sample
// index, so that two runs are the same. It knows nothing of UHD; devices.yaml has the values of
// each product.
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

// A gain as it is: level, and phase in turns (-0.5 to 0.5).
struct actual_gain {
    db level;
    double turns;
};
// The error of the gain setting `gain` of the radio and channel that `key` names; within the
// limits.
actual_gain error_of_gain(const gain_error_limits& limits, std::uint32_t key, double gain);
// A part of the way from one gain to another, by the shorter way round.
actual_gain between(const actual_gain& from, const actual_gain& to, double part);

// How far the carrier of an oscillator has turned ahead of a constant one, t seconds after the
// start of the clock: aging, the warming up after power-on, and the temperature of the room, whose
// phase `key` draws.
class oscillator_wander {
public:
    oscillator_wander(const wander_limits& limits, std::uint32_t key);
    double parts(double seconds) const;           // deviation, 1e-6 is 1 ppm
    double turned_seconds(double seconds) const;  // its integral; times the carrier, turns

    static constexpr double warm_up_s = 150, temperature_period_s = 1200;

private:
    double aging_, warm_up_, temperature_, phase_;
};

// Turns samples by the wander of a carrier; `sign` 1 sent, -1 received.
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

// y = a x + b conj(x) + c. b and c have a constant part, and one that the radio's tracking leaves,
// another one after each interval.
class tracked_errors {
public:
    tracked_errors(const front_end& front, const tracking_steps& steps, std::uint32_t key,
                   double sample_rate);
    void work(std::int64_t first, std::span<cf32> x) noexcept;

    struct residue {
        std::complex<double> dc, image;
    };
    residue at(std::int64_t step) const noexcept;  // of the interval with this number

private:
    tracking_steps steps_;
    std::uint32_t key_;
    std::int64_t interval_;  // samples
    std::complex<double> dc_, image_;
};

// A raised cosine over the first samples of a burst that are not empty: those behind the delay of
// its filters.
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
