// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "resampler.h"

namespace {

using namespace wip;
using cf32 = std::complex<float>;

std::vector<cf32> tone(double hz, double rate_hz, std::size_t n) {
    std::vector<cf32> x(n);
    for (std::size_t i = 0; i < n; ++i)
        x[i] = std::polar(
            1.0F, static_cast<float>(2 * std::numbers::pi *
                                     std::fmod(hz / rate_hz * static_cast<double>(i), 1.0)));
    return x;
}

std::vector<cf32> resampled(const std::vector<cf32>& in, double rate_hz, std::size_t piece) {
    resampler r(rate_hz);
    std::vector<cf32> out;
    for (std::size_t at = 0; at < in.size(); at += piece) {
        const auto part = r.work(std::span(in).subspan(at, std::min(piece, in.size() - at)));
        out.insert(out.end(), part.begin(), part.end());
    }
    const auto rest = r.finish();
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
}

// Amplitude and phase (in turns) of a tone in the middle of the samples.
cf32 seen(const std::vector<cf32>& x, double hz) {
    std::complex<double> sum = 0;
    const std::size_t from = x.size() / 4, to = 3 * x.size() / 4;
    for (std::size_t i = from; i < to; ++i)
        sum += std::complex<double>(x[i]) *
               std::polar(1.0, -2 * std::numbers::pi *
                                   std::fmod(hz / sample_rate_hz * static_cast<double>(i), 1.0));
    return cf32(sum / static_cast<double>(to - from));
}

constexpr double rates[] = {6.144e6, 7.68e6, 8e6, 10e6, 12.5e6, 15.36e6, 20e6, 61.44e6};

TEST(resampler, lasts_as_long_as_its_input) {
    for (const double rate : rates)
        for (const std::size_t n : {std::size_t{10}, std::size_t{20'001}}) {
            const auto out = resampled(std::vector<cf32>(n), rate, 4711);
            EXPECT_EQ(static_cast<double>(out.size()),
                      std::round(static_cast<double>(n) * 7.68e6 / rate))
                << rate;
        }
}

TEST(resampler, keeps_frequency_amplitude_and_time_of_a_tone) {
    for (const double rate : rates) {
        const auto n = static_cast<std::size_t>(40'000 * rate / 7.68e6);
        double first = 0;
        for (const double hz : {100e3, 110e3}) {
            const cf32 found = seen(resampled(tone(hz, rate, n), rate, 4096), hz);
            EXPECT_NEAR(20 * std::log10(std::abs(found)), 0, 0.05) << rate;
            // The difference of two phases over that of the frequencies: the delay.
            const double turns = std::arg(found) / (2 * std::numbers::pi);
            if (hz == 100e3) {
                first = turns;
            } else {
                const double late = -std::remainder(turns - first, 1.0) / 10e3 * 7.68e6;
                EXPECT_NEAR(late, 0, 0.6) << rate;
            }
        }
    }
}

TEST(resampler, what_lies_beyond_the_new_rate_does_not_fall_into_the_cell) {
    for (const double rate : {12.5e6, 15.36e6, 20e6, 61.44e6})
        for (double hz = 5.18e6; hz < rate / 2; hz += rate / 40) {
            const double folded = std::remainder(hz, 7.68e6);
            if (std::abs(folded) > 2.505e6) continue;
            const auto n = static_cast<std::size_t>(8'000 * rate / 7.68e6);
            const cf32 found = seen(resampled(tone(hz, rate, n), rate, 4096), folded);
            EXPECT_LT(20 * std::log10(std::abs(found)), -resampler::stopband_db + 3)
                << rate << ", " << hz;
        }
}

TEST(resampler, makes_the_same_of_pieces_of_any_size) {
    std::mt19937 random(3);
    std::normal_distribution<float> part;
    std::vector<cf32> x(30'000);
    for (auto& v : x) v = {part(random), part(random)};
    for (const double rate : {6.144e6, 10e6, 20e6})
        EXPECT_EQ(resampled(x, rate, 1), resampled(x, rate, 30'000)) << rate;
}

TEST(resampler, refuses_rates_that_cannot_hold_the_cell) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double rate :
         {0.0, -10e6, 1.0, 4.9e6, 5.0e6, 251e6, nan, -nan, std::numeric_limits<double>::infinity()})
        EXPECT_THROW(resampler{rate}, std::invalid_argument) << rate;
    EXPECT_NO_THROW(resampler{5.01e6});
    EXPECT_NO_THROW(resampler{250e6});
}

}  // namespace
