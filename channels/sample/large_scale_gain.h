// SPDX-License-Identifier: GPL-3.0-or-later
// The large-scale gain (large_scale.h) on samples: shadowing and path loss exactly every 1280
// samples, with the amplitude on a straight line between (at 500 km/h 2.3 cm: shadowing with a
// correlation length of 2 m moves by 0.03 dB rms off that line), blackouts to the sample. Levels of
// an attenuator are steps, at most 1279 samples (0.17 ms) after their tick.
#pragma once

#include "sample/large_scale.h"

namespace wip::sample_model {

class large_scale_gain : public memoryless {
public:
    large_scale_gain(const large_scale_config& config, const motion& movement,
                     const stage_context& context)
        : gain_(config, movement, context) {}

    bool empty() const noexcept { return gain_.empty(); }
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    static constexpr std::int64_t spacing = 1280;
    static_assert(5120 % spacing == 0);
    large_scale gain_;
    std::int64_t interval_ = INT64_MIN;
    double left_ = 0, right_ = 0, line_end_ = 0;  // amplitudes at the ends of the interval;
                                                  // line_end_: where the line from left_ ends
};

}  // namespace wip::sample_model
