// SPDX-License-Identifier: GPL-3.0-or-later
// The windows of our filters against those that liquid-dsp computes.
#include <complex>
//
#include <gtest/gtest.h>
#include <liquid/liquid.h>  // its complex numbers are those of <complex> when that came first

#include <cmath>
#include <numbers>

#include "sample/fractional_delay.h"

namespace {

// Kaiser's formula for the attenuation that the header promises, and his window, between the
// integers too.
TEST(kaiser, window_and_attenuation_of_the_delay_kernel_are_liquids) {
    for (const auto& [half_width, attenuation_db] : {std::pair(7, 73.0), {8, 83.0}}) {
        const float beta = kaiser_beta_As(static_cast<float>(attenuation_db));
        const wip::sample_model::delay_kernel kernel(half_width, false);
        constexpr int steps = 16;
        const auto length = static_cast<unsigned int>(2 * half_width * steps + 1);
        for (unsigned int i = 1; i + 1 < length; ++i) {
            const double u = static_cast<double>(i) / steps - half_width;
            if (u == std::round(u)) continue;
            const double sinc = std::sin(std::numbers::pi * u) / (std::numbers::pi * u);
            // 0.01: the formula's attenuation is not a whole number of decibels.
            EXPECT_NEAR(kernel.exact(u), sinc * static_cast<double>(liquid_kaiser(i, length, beta)),
                        0.01 * std::abs(sinc))
                << half_width << ' ' << u;
        }
    }
}

// The attenuation is that of the image by the kernel as a low-pass filter.
TEST(kaiser, attenuation_is_what_kaisers_formula_says) {
    for (const auto& [half_width, attenuation_db] : {std::pair(7, 73.0), {8, 83.0}}) {
        const auto taps = static_cast<unsigned int>(2 * half_width);
        EXPECT_NEAR(estimate_req_filter_As(2 * 0.1745F, taps - 1), attenuation_db, 4) << half_width;
    }
}

}  // namespace
