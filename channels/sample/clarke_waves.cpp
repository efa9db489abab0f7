// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/clarke_waves.h"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "sample/counter_random.h"
#include "sample/fast_math.h"

namespace wip::sample_model {

clarke_waves::clarke_waves(double doppler_hz, double sample_rate, int spacing, std::uint64_t seed,
                           std::uint32_t purpose) {
    if (!(doppler_hz >= 0 && doppler_hz <= max_doppler_hz))
        throw std::invalid_argument("doppler_hz " + std::to_string(doppler_hz) +
                                    ": valid is 0 to 2000");
    if (!(sample_rate > 0))
        throw std::invalid_argument("sample_rate " + std::to_string(sample_rate) +
                                    ": valid is more than 0");
    const std::uint32_t key = derive_key(seed, purpose ^ 0x46414445u);
    const double offset = uniform(0, key);
    for (int n = 0; n < waves; ++n) {
        const double angle = 2 * std::numbers::pi * (n + offset) / waves;
        turns_per_knot_[n] = doppler_hz * std::cos(angle) * spacing / sample_rate;
        phase_turns_[n] = uniform(static_cast<std::uint64_t>(n) + 1, key);
        radians_per_knot_[n] = static_cast<float>(2 * std::numbers::pi * turns_per_knot_[n]);
    }
}

clarke_waves::knot clarke_waves::evaluate(std::int64_t index) const noexcept {
    const double k = static_cast<double>(index);
    alignas(64) std::uint32_t turn[waves];
    for (int n = 0; n < waves; ++n) {
        const double t = turns_per_knot_[n] * k + phase_turns_[n];
        turn[n] =
            static_cast<std::uint32_t>(static_cast<std::int64_t>((t - std::floor(t)) * 0x1p32));
    }
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
        slope_re -= radians_per_knot_[n] * im[n];
        slope_im += radians_per_knot_[n] * re[n];
    }
    constexpr float amplitude = 0.125f;  // 64^-1/2
    return {{amplitude * sum_re, amplitude * sum_im}, {amplitude * slope_re, amplitude * slope_im}};
}

}  // namespace wip::sample_model
