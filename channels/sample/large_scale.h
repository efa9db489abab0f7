// SPDX-License-Identifier: GPL-3.0-or-later
// The effect of the terminal's position on the level, in dB, as a function of (seed, absolute
// sample index): shadowing + path loss + blackout. The sample level (large_scale_gain.h) and the
// bin level both use it.
//
// Shadowing: an AR(1) process in dB, s_k = a s_{k-1} + sigma sqrt(1 - a^2) w_k, one step for every
// d0 metres travelled. A pole a per step and a correlation length L (where the autocorrelation is
// 1/e) fix d0 = -L ln a; the process is then sigma^2 exp(-distance/L) whatever the pole, which only
// tells the step at which an AR(1) process of the literature is defined. To be a function of the
// index without a recursion, s_k is computed as a moving average, sum_j a^j w_{k-j}, cut where a^j
// < 10^-4 (10^-8 of the variance), with w_k from a counter. Steps are made eight times finer than
// d0 (pole a^(1/8)) and joined by ((1-x) s_k + x s_{k+1})/sqrt((1-x)^2 + x^2 + 2x(1-x)a^(1/8)):
// continuous, variance sigma^2 everywhere, autocorrelation within 2 % of the exponential. With
// `linear_mean` the mean of the linear gain is 1 (sigma^2 ln(10)/20 dB are subtracted), so that a
// mean SNR stays the mean of the linear SNR; without it the mean of the gain in dB is 0.
//
// Path loss: -10 n log10(max(distance, minimum)/reference) dB: a configured mean SNR is the one at
// the reference distance.
//
// Attenuator: shadowing and path loss as the programmable attenuator on a cable plays them
// (docs/how-to/attenuator.md): one level for each tick of its controller, the level at the
// beginning of the tick rounded to its steps. Its setting of 0 dB is `headroom_db` above the mean
// level, its largest one is `range_db`. It does not play blackouts.
//
// Blackout: `depth_db` less for `duration_s` from `start_s` on, every `period_s` (0: once), exact
// to the sample.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sample/events.h"
#include "sample/motion.h"
#include "sample/sample_stage.h"
#include "types/db.h"

namespace wip::sample_model {

struct shadowing_config {
    double deviation_db = 4;   // 0 to 20
    double correlation_m = 2;  // 0.1 to 10000
    double pole = 0.74;        // 0.1 to 0.99
    bool linear_mean = true;
};
struct path_loss_config {
    double exponent = 3.5;     // 0 to 8
    double reference_m = 500;  // 0.1 to 100000
    double minimum_m = 35;     // 0.1 to reference_m
};
struct blackout_config {
    double start_s = 1, duration_s = 0.1, period_s = 0;
    double depth_db = 100;  // 0 to 200
};
struct attenuator_config {
    double step_db = 0.25;    // 0.01 to 10
    double tick_ms = 1;       // 1 to 1000
    double headroom_db = 20;  // 0 to 60
    double range_db = 63.5;   // 1 to 127
};
struct large_scale_config {
    std::optional<shadowing_config> shadowing{};
    std::optional<path_loss_config> path_loss{};
    std::optional<attenuator_config> attenuator{};
    std::vector<blackout_config> blackouts{};
};

class shadowing {
public:
    shadowing(const shadowing_config& config, const stage_context& context);
    // The gain after so many metres. The random numbers of the last step are kept, so the next step
    // needs one more (a step is L/27 with a pole of 0.74), and a jump a few hundred.
    db gain(double metres) noexcept;

private:
    double value(std::int64_t step) noexcept;
    double step_m_, pole_, scale_, offset_;
    std::uint32_t key_;
    std::vector<double> random_;  // w_k of the terms of the last value, at k modulo their number
    std::int64_t newest_ = INT64_MIN;
    std::int64_t at_ = INT64_MIN;
    double left_ = 0, right_ = 0;
};

class large_scale {
public:
    // Throws std::invalid_argument with key, value and what is valid.
    large_scale(const large_scale_config& config, const motion& movement,
                const stage_context& context);
    bool empty() const noexcept;
    // Shadowing and path loss, which change little within 1280 samples, unless in_steps().
    db slow(std::int64_t n) noexcept;
    bool in_steps() const noexcept { return attenuator_.has_value(); }
    db blackout(std::int64_t n) const noexcept;                        // 0 or less
    std::int64_t next_blackout_change(std::int64_t n) const noexcept;  // after n; INT64_MAX: none
    db gain(std::int64_t n) noexcept { return slow(n) + blackout(n); }

private:
    struct interval {
        event_times times;
        std::int64_t length;
        double depth_db;
    };
    double smooth(std::int64_t n) noexcept;

    motion movement_;
    std::optional<attenuator_config> attenuator_;
    std::int64_t tick_ = 1;  // tick of the attenuator, samples
    std::optional<shadowing> shadowing_;
    std::optional<path_loss_config> path_loss_;
    std::vector<interval> blackouts_;
};

}  // namespace wip::sample_model
