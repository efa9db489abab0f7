// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/flat_fading.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "sample/complex_multiply.h"
#include "sample/counter_random.h"
#include "sample/fast_math.h"

namespace wip::sample_model {

flat_fading::flat_fading(double doppler_hz, double sample_rate, std::uint64_t seed,
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

flat_fading::knot flat_fading::evaluate(std::int64_t index) const noexcept {
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

void flat_fading::prepare(std::int64_t interval) noexcept {
    if (interval == interval_) return;
    const knot left = interval - 1 == interval_ ? right_ : evaluate(interval);
    right_ = evaluate(interval + 1);
    interval_ = interval;
    const cf32 step = right_.value - left.value;
    c0_ = left.value;
    c1_ = left.slope;
    c2_ = 3.0f * step - 2.0f * left.slope - right_.slope;
    c3_ = left.slope + right_.slope - 2.0f * step;
}

template <bool apply>
void flat_fading::run(const cf32* in, cf32* out, std::size_t size) noexcept {
    std::size_t done = 0;
    while (done < size) {
        const std::int64_t interval =
            position_ >= 0 ? position_ / spacing : (position_ - spacing + 1) / spacing;
        prepare(interval);
        const int first = static_cast<int>(position_ - interval * spacing);
        const std::size_t n =
            std::min<std::size_t>(size - done, static_cast<std::size_t>(spacing - first));
        const float a0 = c0_.real(), a1 = c1_.real(), a2 = c2_.real(), a3 = c3_.real();
        const float b0 = c0_.imag(), b1 = c1_.imag(), b2 = c2_.imag(), b3 = c3_.imag();
        alignas(64) float re[spacing], im[spacing];
        for (std::size_t i = 0; i < n; ++i) {
            const float x = static_cast<float>(first + static_cast<int>(i)) * (1.0f / spacing);
            re[i] = a0 + x * (a1 + x * (a2 + x * a3));
            im[i] = b0 + x * (b1 + x * (b2 + x * b3));
        }
        if constexpr (apply)
            multiply(in + done, re, im, out + done, n);
        else
            for (std::size_t i = 0; i < n; ++i) out[done + i] = cf32(re[i], im[i]);
        done += n;
        position_ += static_cast<std::int64_t>(n);
    }
}

void flat_fading::work(std::span<const cf32> in, std::span<cf32> out) noexcept {
    run<true>(in.data(), out.data(), out.size());
}

void flat_fading::gains(std::span<cf32> out) noexcept {
    run<false>(nullptr, out.data(), out.size());
}

}  // namespace wip::sample_model
