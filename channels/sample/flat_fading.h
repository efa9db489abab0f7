// SPDX-License-Identifier: GPL-3.0-or-later
// Flat Rayleigh fading with the Doppler spectrum of Clarke and Jakes (clarke_waves.h). Knots are
// 256 samples apart, with a cubic between them: its error is -98 dB at 800 Hz, -82 dB at 2 kHz. So
// the gain of a sample depends on (seed, index) and on nothing else.
// With a Doppler shift of 0 the gain is a constant, drawn from the same distribution.
// tests/unit/channels/test_flat_fading.cpp: distribution, J0, level, chunking.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "sample/clarke_waves.h"

namespace wip::sample_model {

using cf32 = std::complex<float>;

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
    static constexpr int spacing = 256;            // samples between knots
    void prepare(std::int64_t interval) noexcept;  // cubic of [interval, interval + 1] spacings
    template <bool apply>
    void run(const cf32* in, cf32* out, std::size_t size) noexcept;

    clarke_row waves_;
    std::int64_t position_ = 0;
    std::int64_t interval_ = INT64_MIN;
    clarke_waves::knot right_{};
    cf32 c0_, c1_, c2_, c3_;
};

}  // namespace wip::sample_model
