// SPDX-License-Identifier: GPL-3.0-or-later
// Flat Rayleigh fading with the Doppler spectrum of Clarke and Jakes: waves of equal power arrive
// from all directions, h(t) = N^-1/2 sum_n exp(j 2 pi (f cos a_n t + p_n)), N = 64.
//   a_n = 2 pi (n + u)/N, one random u: the mean over n of exp(j x cos a_n) is the trapezoid rule
//   on a periodic function, which equals the Bessel function J0(x) to machine precision while
//   x < N/2. So already the time average of one realisation has the autocorrelation
//   J0(2 pi f tau) for the first ten wavelengths, and mean power exactly 1. The random offset u
//   also keeps any two waves from having the same Doppler shift.
//   p_n random: h is a sum of 64 independent phasors, Gaussian but for E|h|^4 = 2 - 1/N.
// The sum is evaluated at knots 256 samples apart with its exact derivative; between them a cubic
// Hermite polynomial is used, whose error is below (2 pi f T)^4/384: -97 dB at 800 Hz, -65 dB at
// the limit of 2 kHz. Phases are computed from the absolute sample index in double precision, so
// the gain of a sample depends on (seed, index) and on nothing else.
// doppler 0: a constant drawn from the same distribution.
// tests/unit/channels/test_flat_fading.cpp: distribution, J0, level, chunking.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>

namespace wip::sample_model {

using cf32 = std::complex<float>;

inline constexpr double max_doppler_hz = 2000;

class flat_fading {
public:
    // Throws std::invalid_argument unless 0 <= doppler_hz <= max_doppler_hz and sample_rate > 0.
    flat_fading(double doppler_hz, double sample_rate, std::uint64_t seed,
                std::uint32_t purpose = 0);

    void seek(std::int64_t sample) noexcept { position_ = sample; }

    // out = h in; in and out may be the same memory, sizes are equal.
    void work(std::span<const cf32> in, std::span<cf32> out) noexcept;

    // The gain itself at the same positions.
    void gains(std::span<cf32> out) noexcept;

private:
    static constexpr int waves = 64;
    static constexpr int spacing = 256;  // samples between knots
    struct knot {
        cf32 value, slope;  // slope per knot spacing
    };
    knot evaluate(std::int64_t index) const noexcept;
    void prepare(std::int64_t interval) noexcept;  // cubic of [interval, interval + 1] spacings
    template <bool apply>
    void run(const cf32* in, cf32* out, std::size_t size) noexcept;

    alignas(64) std::array<double, waves> turns_per_knot_;
    alignas(64) std::array<double, waves> phase_turns_;
    alignas(64) std::array<float, waves> radians_per_knot_;
    std::int64_t position_ = 0;
    std::int64_t interval_ = INT64_MIN;
    knot right_{};
    cf32 c0_, c1_, c2_, c3_;
};

}  // namespace wip::sample_model
