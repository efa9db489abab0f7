// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/flat_fading.h"

#include <algorithm>
#include <array>

#include "sample/complex_multiply.h"

namespace wip::sample_model {

flat_fading::flat_fading(double doppler_hz, double sample_rate, std::uint64_t seed,
                         std::uint32_t purpose)
    : waves_(std::array{clarke_waves(doppler_hz, sample_rate, spacing, seed, purpose)}, true) {}

void flat_fading::prepare(std::int64_t interval) noexcept {
    if (interval == interval_) return;
    clarke_waves::knot left = right_;
    if (interval - 1 != interval_) waves_.evaluate(static_cast<double>(interval), 1, &left);
    waves_.evaluate(static_cast<double>(interval + 1), 1, &right_);
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
