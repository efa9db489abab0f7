// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tap_gains.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "sample/counter_random.h"

namespace wip::sample_model {
namespace {

int knot_spacing(double doppler_hz, double sample_rate) {
    int spacing = 8192;
    while (spacing > 64 && 2 * std::numbers::pi * doppler_hz * spacing / sample_rate > 0.443)
        spacing /= 2;
    return spacing;
}

// Hermite polynomial between two knots.
struct cubic {
    cubic(const clarke_waves::knot& left, const clarke_waves::knot& right) {
        const cf32 rise = right.value - left.value;
        c[0] = left.value;
        c[1] = left.slope;
        c[2] = 3.0f * rise - 2.0f * left.slope - right.slope;
        c[3] = left.slope + right.slope - 2.0f * rise;
    }
    cf32 c[4];
};

}  // namespace

tap_gains::tap_gains(const delay_profile& profile, double doppler_hz,
                     const stage_context& context) {
    check_profile(profile);
    check_range("doppler_hz", doppler_hz, 0, max_doppler_hz);
    const int spacing = knot_spacing(doppler_hz, context.sample_rate);
    spacing_bits_ = std::countr_zero(static_cast<unsigned>(spacing));
    inverse_spacing_ = 1.0f / static_cast<float>(spacing);
    const std::vector<double> powers = profile.powers();
    for (std::size_t p = 0; p < profile.taps.size(); ++p) {
        const profile_tap& c = profile.taps[p];
        const std::uint32_t purpose =
            0x54440000u ^ context.purpose << 8 ^ static_cast<std::uint32_t>(p);
        const double k = std::pow(10, c.k_db / 10);
        const double direct = c.fading == tap_fading::rayleigh   ? 0
                              : c.fading == tap_fading::constant ? 1
                                                                 : k / (k + 1);
        taps_.push_back(
            {clarke_waves(doppler_hz, context.sample_rate, spacing, context.seed, purpose),
             c.delay_s * context.sample_rate,
             static_cast<float>(std::sqrt(powers[p] * (1 - direct))),
             static_cast<float>(std::sqrt(powers[p] * direct)),
             c.fading == tap_fading::rice ? 0.7 * doppler_hz * spacing / context.sample_rate : 0,
             uniform(0, derive_key(context.seed, purpose ^ 0x4C4F5300u))});
    }
    padded_ = (taps_.size() + 15) / 16 * 16;
    cubic_re_.resize(4 * padded_);
    cubic_im_.resize(4 * padded_);
}

clarke_waves::knot tap_gains::evaluate(const tap& t, std::int64_t knot) const noexcept {
    clarke_waves::knot k{};
    if (t.scattered > 0) {
        k = t.waves.evaluate(knot);
        k.value *= t.scattered;
        k.slope *= t.scattered;
    }
    if (t.direct > 0) {
        const double turns = t.direct_turns_per_knot * static_cast<double>(knot) + t.direct_phase;
        const std::complex<double> w =
            std::polar<double>(t.direct, 2 * std::numbers::pi * (turns - std::floor(turns)));
        const double slope = 2 * std::numbers::pi * t.direct_turns_per_knot;
        k.value += cf32(w);
        k.slope +=
            cf32(static_cast<float>(-slope * w.imag()), static_cast<float>(slope * w.real()));
    }
    return k;
}

// The cubics of all taps over one knot interval.
void tap_gains::prepare_interval(std::int64_t interval) noexcept {
    if (interval == interval_) return;
    const bool follows = interval_ != INT64_MIN && interval - 1 == interval_;
    const std::size_t n = padded_;
    for (std::size_t p = 0; p < taps_.size(); ++p) {
        tap& t = taps_[p];
        const clarke_waves::knot left = follows ? t.right : evaluate(t, interval);
        t.right = evaluate(t, interval + 1);
        const cubic c(left, t.right);
        for (std::size_t i = 0; i < 4; ++i) {
            cubic_re_[i * n + p] = c.c[i].real();
            cubic_im_[i * n + p] = c.c[i].imag();
        }
    }
    interval_ = interval;
}

void tap_gains::at(std::int64_t index, float* re, float* im) noexcept {
    const std::int64_t interval = index >> spacing_bits_;  // rounds down
    prepare_interval(interval);
    const float x = static_cast<float>(index - (interval << spacing_bits_)) * inverse_spacing_;
    const std::size_t n = padded_;
    const float *cr = cubic_re_.data(), *ci = cubic_im_.data();
    for (std::size_t p = 0; p < n; ++p)
        re[p] = cr[p] + x * (cr[n + p] + x * (cr[2 * n + p] + x * cr[3 * n + p]));
    for (std::size_t p = 0; p < n; ++p)
        im[p] = ci[p] + x * (ci[n + p] + x * (ci[2 * n + p] + x * ci[3 * n + p]));
}

void tap_gains::at(std::int64_t index, std::span<cf32> out) const noexcept {
    const std::int64_t interval = index >> spacing_bits_;  // rounds down
    const float x = static_cast<float>(index - (interval << spacing_bits_)) * inverse_spacing_;
    for (std::size_t p = 0; p < std::min(out.size(), taps_.size()); ++p) {
        const cubic k(evaluate(taps_[p], interval), evaluate(taps_[p], interval + 1));
        out[p] = k.c[0] + x * (k.c[1] + x * (k.c[2] + x * k.c[3]));
    }
}

}  // namespace wip::sample_model
