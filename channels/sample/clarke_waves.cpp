// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/clarke_waves.h"

#include <cmath>
#include <numbers>

#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "types/require.h"

namespace wip::sample_model {

clarke_waves::clarke_waves(double doppler_hz, double sample_rate, int spacing, std::uint64_t seed,
                           std::uint32_t purpose) {
    check_range("doppler_hz", doppler_hz, 0, max_doppler_hz);
    require(sample_rate > 0, "sample_rate", sample_rate, "more than 0");
    const std::uint32_t key = derive_key(seed, purpose ^ 0x46414445u);
    const double offset = uniform(0, key);
    for (int n = 0; n < waves; ++n) {
        const double angle = 2 * std::numbers::pi * (n + offset) / waves;
        direction_[n] = std::cos(angle);
        radians_per_wavelength_[n] = static_cast<float>(2 * std::numbers::pi * direction_[n]);
        turns_per_knot_[n] = doppler_hz * direction_[n] * spacing / sample_rate;
        phase_turns_[n] = uniform(static_cast<std::uint64_t>(n) + 1, key);
        radians_per_knot_[n] = static_cast<float>(2 * std::numbers::pi * turns_per_knot_[n]);
    }
}

namespace {

std::uint32_t fraction(double turns) {
    return static_cast<std::uint32_t>(
        static_cast<std::int64_t>((turns - std::floor(turns)) * 0x1p32));
}

}  // namespace

clarke_waves::knot clarke_waves::evaluate(std::int64_t index) const noexcept {
    const double k = static_cast<double>(index);
    alignas(64) std::array<std::uint32_t, waves> turn;
    for (int n = 0; n < waves; ++n) turn[n] = fraction(turns_per_knot_[n] * k + phase_turns_[n]);
    return sum(turn, radians_per_knot_.data(), 1);
}

clarke_waves::knot clarke_waves::evaluate_at(double wavelengths, double per_knot) const noexcept {
    alignas(64) std::array<std::uint32_t, waves> turn;
    for (int n = 0; n < waves; ++n)
        turn[n] = fraction(direction_[n] * wavelengths + phase_turns_[n]);
    return sum(turn, radians_per_wavelength_.data(), static_cast<float>(per_knot));
}

// Sum of the waves and its derivative.
clarke_waves::knot clarke_waves::sum(const std::array<std::uint32_t, waves>& turn,
                                     const float* radians, float scale) const noexcept {
    alignas(64) float re[waves], im[waves];
    for (int n = 0; n < waves; ++n) {
        const sine_cosine w = fast_sincos(turn[n]);
        re[n] = w.cosine;
        im[n] = w.sine;
    }
    float sum_re = 0, sum_im = 0, slope_re = 0, slope_im = 0;
    for (int n = 0; n < waves; ++n) {
        sum_re += re[n];
        sum_im += im[n];
        slope_re -= radians[n] * im[n];
        slope_im += radians[n] * re[n];
    }
    constexpr float amplitude = 0.125f;  // 64^-1/2
    const float a = amplitude * scale;
    return {{amplitude * sum_re, amplitude * sum_im}, {a * slope_re, a * slope_im}};
}

}  // namespace wip::sample_model
