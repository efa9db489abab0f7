// SPDX-License-Identifier: GPL-3.0-or-later
// Phase noise of a free-running oscillator: a Wiener process, whose carrier has a Lorentz line of
// 3 dB width `linewidth_hz`; the phase moves by a variance of 2 pi linewidth/fs a sample.
//
// A random walk as a function of (seed, index), so that it can be started anywhere: Levy's midpoint
// construction. W is drawn at -+2^44 samples, and every midpoint of two drawn points is their mean
// plus a normal number of variance (distance)/4, drawn with the point as counter. To reach an
// interval of 8192 samples takes 31 halvings; inside it the levels are drawn one by one as vectors
// down to knots 16 samples apart. Linear between knots: beyond 240 kHz the line is a little steeper
// than it should be.
#pragma once

#include <array>

#include "sample/sample_stage.h"

namespace wip::sample_model {

struct phase_noise_config {
    double linewidth_hz = 0;  // 0 to 10000
};

class phase_noise : public memoryless {
public:
    phase_noise(const phase_noise_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    static constexpr std::int64_t interval = 8192, knot = 16;
    static constexpr int knots = interval / knot;
    double point(std::int64_t n) const noexcept;  // n a multiple of interval, radians
    double normal(std::int64_t n) const noexcept;
    void prepare(std::int64_t number) noexcept;

    std::uint32_t key_;
    double variance_;  // variance of the phase step of a sample, rad^2
    std::int64_t number_ = INT64_MIN;
    std::array<float, knots + 1> turns_{};  // [knot], less the phase of the first knot
    double base_ = 0;                       // phase of the first knot, 0 to 1 turns
};

}  // namespace wip::sample_model
