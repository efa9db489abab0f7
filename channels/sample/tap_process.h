// SPDX-License-Identifier: GPL-3.0-or-later
// The complex gains of the taps of a delay profile, a_p(n), with mean powers that add up to 1. They
// are a function of (profile, motion, seed, purpose, n) alone, so the delay line (sample level) and
// the bin level have the same fading at any index.
//
// Rayleigh = clarke_waves; Rice = direct path (motion.h) plus clarke_waves; constant = fixed
// amplitude, random phase; line_of_sight = direct path alone. Tap p takes its random numbers from
// (seed, tap_purpose(purpose, p)), purpose being the number of the path or user.
#pragma once

#include <span>
#include <vector>

#include "sample/clarke_waves.h"
#include "sample/delay_profile.h"
#include "sample/motion.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

constexpr std::uint32_t tap_purpose(std::uint32_t purpose, std::size_t tap) {
    return 0x54440000u ^ purpose << 8 ^ static_cast<std::uint32_t>(tap);
}

class tap_processes {
public:
    // `spacing`: samples between two knots of evaluate(). Throws std::invalid_argument for a bad
    // profile (delay_profile.h).
    tap_processes(const delay_profile& profile, const motion& movement,
                  const stage_context& context, int spacing = 1);

    std::size_t size() const noexcept { return taps_.size(); }
    double delay_s(std::size_t p) const noexcept { return taps_[p].delay_s; }
    // Evaluates every tap, exactly and with the derivative per knot, at sample knot * spacing.
    void evaluate(std::int64_t knot, std::span<clarke_waves::knot> out) const noexcept;

private:
    struct tap {
        double delay_s;
        double scattered, direct;  // amplitudes
        bool direct_moves;         // the direct path turns with the motion
        double direct_phase;
    };
    void add_direct(const tap& t, std::int64_t n, clarke_waves::knot& k) const noexcept;

    motion movement_;
    int spacing_;
    double sample_rate_;
    std::vector<tap> taps_;
    std::vector<clarke_row> rows_;  // the scattered parts of all taps
};

}  // namespace wip::sample_model
