// SPDX-License-Identifier: GPL-3.0-or-later
// Logarithm and sine/cosine without branches or table look-ups, so that a loop over them becomes
// vector instructions. Relative error about 2e-7 (the test compares with the C library); the
// polynomials are the classic single precision ones on [sqrt(1/2), sqrt(2)] and [-pi/4, pi/4].
#pragma once

#include <bit>
#include <cstdint>

namespace wip::sample_model {

// Natural logarithm of a positive normal float.
inline float fast_log(float x) noexcept {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    // Shift the exponent so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    const std::uint32_t shifted = bits - 0x3F3504F3u;
    const std::int32_t exponent = static_cast<std::int32_t>(shifted) >> 23;
    const float m =
        std::bit_cast<float>(bits - (static_cast<std::uint32_t>(exponent) << 23)) - 1.0f;
    const float e = static_cast<float>(exponent);
    const float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    float y = m * z * p;
    y += e * -2.12194440e-4f - 0.5f * z;
    return m + y + e * 0.693359375f;
}

struct sine_cosine {
    float sine, cosine;
};

// Sine and cosine of the angle turn / 2^32 of a full circle.
inline sine_cosine fast_sincos(std::uint32_t turn) noexcept {
    const std::uint32_t quadrant = (turn + 0x20000000u) >> 30;
    const std::int32_t rest = static_cast<std::int32_t>(turn - (quadrant << 30));
    const float x = static_cast<float>(rest) * 1.4629180792671596e-9f;  // 2 pi / 2^32
    const float z = x * x;
    const float s = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * x + x;
    const float c =
        ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z -
        0.5f * z + 1.0f;
    const bool swap = quadrant & 1;
    const float a = swap ? c : s;
    const float b = swap ? s : c;
    const std::uint32_t negative_sine = (quadrant & 2) << 30;
    const std::uint32_t negative_cosine = ((quadrant + 1) & 2) << 30;
    return {std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) ^ negative_sine),
            std::bit_cast<float>(std::bit_cast<std::uint32_t>(b) ^ negative_cosine)};
}

}  // namespace wip::sample_model
