// SPDX-License-Identifier: GPL-3.0-or-later
// How long the acknowledgements of one TCP flow are held so that the sender's timer learns of delay
// spikes before they hit it (Fotiadis 2005, 4.2.2). Each acknowledgement gives a sample p: when it
// came, less when the segment that it acknowledges was sent. As TCP's own timer does it,
//
//   S, V       mean and mean deviation of p: S += (p - S)/8, then V += (|p - S| - V)/4; the first
//              sample sets S
//   spike      p > S + 4 V of the samples before: the delay D becomes (p - average)/factor, and
//              falls by D/(5 n) from then on, n acknowledgements having come since the last spike
//   no spike   held for D, if D > 0; with each of them D falls, never below 0
//
// Only differences of p are used, so that the sender's clock need not be known. `average` is S of
// the samples before. A static delay is held for as many acknowledgements as D takes to fall to 0.
//
// Fotiadis's listing lets D fall with the spike's acknowledgement as well, his figure only with
// those that start a hold; `reading` chooses between text, listing and figure.
#pragma once

#include <cstdint>

#include "types/setting_limits.h"

namespace wip {

struct delay_injection_config {
    enum class mode : std::uint8_t { off, fixed, adaptive };
    enum class reading : std::uint8_t { rules, listing, figure };  // rules: as described above
    mode kind = mode::off;
    reading read_as = reading::rules;
    double static_ms = setting::delay_injection_static_ms.initial;  // delay of mode fixed
    double factor = setting::delay_injection_factor.initial;
    double spikes_apart = 5;         // D falls to 0 within this many times n, 0.1 .. 1000
    double first_deviation_ms = 10;  // V before the first sample, 0 .. 60000
    double most_delay_ms = 1000;     // limit of D, 0 .. 60000
    int most_held = 1000;            // acknowledgements of a flow, 1 .. 100000
    int most_flows = 1024;           // 1 .. 65536
    double expiry_s = 60;            // a flow is forgotten, 0.001 .. 10^6
    double tick_ms = 1;              // tick of TCP's timestamps, 10^-6 .. 1000
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class delay_rule {
public:
    explicit delay_rule(const delay_injection_config& config);

    struct decision {
        bool spike = false;
        double hold_ms = 0;
    };
    // A sample. `in_hold`: another acknowledgement is being held, with which it leaves.
    decision on_sample(double p_ms, bool in_hold);

    // The value that the next sample is compared with; infinity before the first.
    double threshold_ms() const;
    double mean_ms() const { return mean_; }
    double delay_ms() const { return delay_; }

private:
    delay_injection_config config_;
    bool started_ = false;
    double mean_ = 0, deviation_;
    double delay_ = 0, decrement_ = 0;
    std::int64_t since_spike_ = 0;
};

}  // namespace wip
