// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/clarke_waves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "types/lanes.h"
#include "types/require.h"

namespace wip::sample_model {
namespace {

constexpr float amplitude = 0.125f;  // 64^-1/2

// The fraction of a number, in units of 2^-32. It is taken from the last bits of a double above
// 2^52, which are those of an integer, since a vector conversion to integers would need AVX-512.
std::uint32_t fraction(double turns) {
    return static_cast<std::uint32_t>(
        std::bit_cast<std::uint64_t>(std::floor((turns - std::floor(turns)) * 0x1p32) + 0x1p52));
}

}  // namespace

clarke_waves::clarke_waves(double doppler_hz, double sample_rate, int spacing, std::uint64_t seed,
                           std::uint32_t purpose) {
    check_range("Doppler shift in Hz", doppler_hz, 0, max_doppler_hz);
    require(sample_rate > 0, "sample_rate", sample_rate, "more than 0");
    const std::uint32_t key = derive_key(seed, purpose ^ 0x46414445u);
    const double offset = uniform(0, key);
    for (int n = 0; n < waves; ++n) {
        const double angle = 2 * std::numbers::pi * (n + offset) / waves;
        direction_[n] = std::cos(angle);
        turns_per_knot_[n] = doppler_hz * direction_[n] * spacing / sample_rate;
        phase_turns_[n] = uniform(static_cast<std::uint64_t>(n) + 1, key);
        radians_per_knot_[n] = static_cast<float>(2 * std::numbers::pi * turns_per_knot_[n]);
    }
}

clarke_row::clarke_row(std::span<const clarke_waves> of, bool steady) : size_(of.size()) {
    for (std::size_t n = 0; n < clarke_waves::waves; ++n)
        for (const clarke_waves& w : of) {
            turns_.push_back(steady ? w.turns_per_knot_[n] : w.direction_[n]);
            phase_turns_.push_back(w.phase_turns_[n]);
            radians_.push_back(steady ? w.radians_per_knot_[n]
                                      : static_cast<float>(2 * std::numbers::pi * w.direction_[n]));
        }
    // Padding, since the last wave is read as a whole vector.
    radians_.resize(radians_.size() + nof_lanes);
}

// Sum of the waves and its derivative.
void clarke_row::evaluate(double x, float scale, clarke_waves::knot* out) const noexcept {
    constexpr std::size_t most = clarke_waves::waves * nof_lanes;
    alignas(64) std::uint32_t turn[most];
    alignas(64) float re[most + nof_lanes], im[most + nof_lanes];
    const std::size_t size = turns_.size();
    for (std::size_t i = 0; i < size; ++i) turn[i] = fraction(turns_[i] * x + phase_turns_[i]);
    for (std::size_t i = 0; i < size; ++i) {
        const sine_cosine w = fast_sincos(turn[i]);
        re[i] = w.cosine;
        im[i] = w.sine;
    }
    std::fill_n(re + size, nof_lanes, 0.0f);
    std::fill_n(im + size, nof_lanes, 0.0f);
    lanes sum_re{}, sum_im{}, slope_re{}, slope_im{};
    for (std::size_t i = 0; i < size; i += size_) {
        lanes c, s, r;
        std::memcpy(&c, re + i, sizeof c);
        std::memcpy(&s, im + i, sizeof s);
        std::memcpy(&r, radians_.data() + i, sizeof r);
        sum_re += c;
        sum_im += s;
        slope_re -= r * s;
        slope_im += r * c;
    }
    const float a = amplitude * scale;
    for (std::size_t p = 0; p < size_; ++p)
        out[p] = {{amplitude * sum_re[p], amplitude * sum_im[p]},
                  {a * slope_re[p], a * slope_im[p]}};
}

}  // namespace wip::sample_model
