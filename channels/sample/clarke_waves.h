// SPDX-License-Identifier: GPL-3.0-or-later
// The Doppler process of Clarke and Jakes as a sum of waves: equal power from all directions,
// h(t) = N^-1/2 sum_n exp(j 2 pi (f cos a_n t + p_n)), N = 64.
//   a_n = 2 pi (n + u)/N, one random u: the mean over n of exp(j x cos a_n) is the trapezoid rule
//   on a periodic function, which equals the Bessel function J0(x) to machine precision while
//   x < N/2. So already the time average of one realisation has the autocorrelation
//   J0(2 pi f tau) for the first ten wavelengths, and mean power exactly 1. The random offset u
//   also keeps any two waves from having the same Doppler shift.
//   p_n random: h is a sum of 64 independent phasors, Gaussian but for E|h|^4 = 2 - 1/N.
// Two processes of different (seed, purpose) have different u and p: they are independent.
// The sum is evaluated at knots `spacing` samples apart with its exact derivative; callers put a
// cubic Hermite polynomial between them, whose error is below (2 pi f T)^4/384. Phases are computed
// from the absolute index in double precision, so a knot depends on (seed, index) and nothing else.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace wip::sample_model {

inline constexpr double max_doppler_hz = 2000;

class clarke_waves {
public:
    struct knot {
        std::complex<float> value, slope;  // slope per knot spacing
    };
    // Throws std::invalid_argument unless 0 <= doppler_hz <= max_doppler_hz and sample_rate > 0.
    clarke_waves(double doppler_hz, double sample_rate, int spacing, std::uint64_t seed,
                 std::uint32_t purpose);

private:
    friend class clarke_row;
    static constexpr int waves = 64;
    alignas(64) std::array<double, waves> direction_;  // cosine of the angle to the motion
    alignas(64) std::array<double, waves> turns_per_knot_;
    alignas(64) std::array<double, waves> phase_turns_;
    alignas(64) std::array<float, waves> radians_per_knot_;
};

// Evaluates up to nof_lanes processes (types/lanes.h) together. The additions of one process depend
// on each other; those of several run in one vector. The result of a process does not depend on the
// others, to the bit.
class clarke_row {
public:
    // How evaluate() takes its arguments: if `steady`, x is the number of the knot, and scale is 1;
    // else x is the distance travelled in wavelengths, and scale the wavelengths in a knot spacing.
    clarke_row(std::span<const clarke_waves> of, bool steady);

    std::size_t size() const noexcept { return size_; }
    void evaluate(double x, float scale, clarke_waves::knot* out) const noexcept;

private:
    std::size_t size_;
    std::vector<double> turns_, phase_turns_;  // [wave][process]
    std::vector<float> radians_;
};

}  // namespace wip::sample_model
