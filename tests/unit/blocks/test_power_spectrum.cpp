// SPDX-License-Identifier: GPL-3.0-or-later
// Levels against what they have to be: a tone has its power where it is, noise that of the noise
// bandwidth everywhere. The window is written down here again, as its definition has it.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include "iq/power_spectrum.h"
#include "spectrum_thread.h"

namespace {

using namespace wip;
using cf32 = std::complex<float>;
constexpr std::size_t points = iq::power_spectrum::nof_points;

std::vector<cf32> tone(double points_from_carrier, double amplitude) {
    std::vector<cf32> x(slot_samples);
    for (std::size_t n = 0; n < x.size(); ++n)
        x[n] =
            std::polar(static_cast<float>(amplitude),
                       static_cast<float>(2 * std::numbers::pi *
                                          std::fmod(points_from_carrier * static_cast<double>(n) /
                                                        static_cast<double>(points),
                                                    1.0)));
    return x;
}

std::vector<float> spectrum_of(std::span<const cf32> x) {
    iq::power_spectrum s;
    std::vector<float> dbfs(points);
    EXPECT_TRUE(s.work(x, std::span<float, points>(dbfs)));
    return dbfs;
}

// Blackman-Harris, four terms (Harris 1978): sum of squares over square of the sum.
double noise_bandwidth_points() {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < points; ++i) {
        const double t =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(points - 1);
        const double w =
            0.35875 - 0.48829 * std::cos(t) + 0.14128 * std::cos(2 * t) - 0.01168 * std::cos(3 * t);
        sum += w;
        squares += w * w;
    }
    return static_cast<double>(points) * squares / (sum * sum);
}

TEST(power_spectrum, a_tone_has_its_power_at_its_frequency_and_nothing_elsewhere) {
    for (const int at : {-384, -250, -1, 0, 1, 37, 249, 383})
        for (const double amplitude : {1.0, 0.1, 0.01}) {
            const auto dbfs = spectrum_of(tone(at, amplitude));
            const auto peak = std::ranges::max_element(dbfs) - dbfs.begin();
            EXPECT_EQ(peak, at + 384);
            EXPECT_NEAR(dbfs[static_cast<std::size_t>(peak)], 20 * std::log10(amplitude), 0.02);
            for (int i = 0; i < static_cast<int>(points); ++i) {
                const int apart = std::abs(i - static_cast<int>(peak));
                if (std::min(apart, static_cast<int>(points) - apart) >= 4) {
                    EXPECT_LT(dbfs[static_cast<std::size_t>(i)], 20 * std::log10(amplitude) - 90)
                        << i;
                }
            }
        }
}

TEST(power_spectrum, a_tone_between_two_points_loses_no_more_than_the_window_says) {
    const auto dbfs = spectrum_of(tone(100.5, 1));
    EXPECT_NEAR(*std::ranges::max_element(dbfs), -0.83, 0.05);  // Harris 1978, table I
}

TEST(power_spectrum, noise_has_the_power_of_the_noise_bandwidth_at_every_point) {
    EXPECT_NEAR(iq::power_spectrum::noise_bandwidth_hz,
                noise_bandwidth_points() * sample_rate_hz / static_cast<double>(points), 30);
    constexpr double power = 1e-4;  // -40 dBFS in 7.68 MHz
    std::mt19937_64 random(5);
    std::normal_distribution<float> part(0, static_cast<float>(std::sqrt(power / 2)));
    iq::power_spectrum s;
    std::vector<double> mean(points);
    constexpr int times = 400;
    for (int t = 0; t < times; ++t) {
        std::vector<cf32> x(slot_samples);
        for (auto& v : x) v = {part(random), part(random)};
        std::vector<float> dbfs(points);
        ASSERT_TRUE(s.work(x, std::span<float, points>(dbfs)));
        for (std::size_t i = 0; i < points; ++i) mean[i] += std::pow(10, dbfs[i] / 10.0) / times;
    }
    const double wanted = power * noise_bandwidth_points() / static_cast<double>(points);
    double all = 0;
    for (std::size_t i = 0; i < points; ++i) {
        // 400 slots of about 12 independent transforms: 0.06 dB standard deviation.
        EXPECT_NEAR(10 * std::log10(mean[i] / wanted), 0, 0.3) << i;
        all += mean[i] / wanted / static_cast<double>(points);
    }
    EXPECT_NEAR(10 * std::log10(all), 0, 0.02);
}

TEST(power_spectrum, silence_is_the_lowest_level_and_no_number_is_no_spectrum) {
    for (const float value : spectrum_of(std::vector<cf32>(slot_samples)))
        EXPECT_EQ(value, iq::power_spectrum::lowest_dbfs);
    iq::power_spectrum s;
    std::vector<cf32> x(slot_samples, cf32(0.1F, 0));
    std::vector<float> dbfs(points);
    x[3000] = {std::numeric_limits<float>::quiet_NaN(), 0};
    EXPECT_FALSE(s.work(x, std::span<float, points>(dbfs)));
    x[3000] = {};
    EXPECT_TRUE(s.work(x, std::span<float, points>(dbfs))) << "the next one is not touched by it";
    EXPECT_NEAR(dbfs[384], -20, 0.3);
}

// --- the thread ---

// A block: slots of one tone, in pieces.
struct block {
    spectrum_thread spectra;
    std::int64_t air = 0, every = 150;
    int made = 0;
    std::vector<std::int64_t> made_at;
    std::vector<float> last;

    void slots(int n, double at, std::int64_t jump_in = -1) {
        const auto x = tone(at, 0.5);
        for (int i = 0; i < n; ++i, ++air) {
            for (std::size_t from = 0; from < x.size(); from += 1000)
                spectra.samples(
                    first_sample(slot(air)) +
                        sample_count(static_cast<std::int64_t>(from) +
                                     (air == jump_in && from >= 2000 ? 77 : 0)),
                    std::span(x).subspan(from, std::min<std::size_t>(1000, x.size() - from)));
            spectra.on_slot(air, every);
            if (every == 0 || air % every != 0) continue;
            // A slot takes less than a millisecond on the air, and nothing here.
            std::span<const float> found;
            for (int tries = 0; tries < 2000 && found.empty() && air > 0; ++tries) {
                found = spectra.take();
                if (found.empty()) std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
            if (found.empty()) continue;
            ++made;
            made_at.push_back(air);
            last.assign(found.begin(), found.end());
        }
    }
};

std::ptrdiff_t peak_of(const std::vector<float>& dbfs) {
    return std::ranges::max_element(dbfs) - dbfs.begin();
}

TEST(spectrum_thread, has_a_spectrum_of_a_slot_shortly_before_for_every_detail) {
    block b;
    b.slots(136, 20);
    b.slots(15, 200);  // asked for in slot 135: the samples are those of 136
    ASSERT_EQ(b.made_at, std::vector<std::int64_t>{150});
    EXPECT_EQ(peak_of(b.last), 384 + 200);
    EXPECT_NEAR(b.last[584], -6.02, 0.02);
    EXPECT_TRUE(b.spectra.take().empty()) << "once";
    b.slots(300, -100);
    EXPECT_EQ(b.made_at, (std::vector<std::int64_t>{150, 300, 450}));
    EXPECT_EQ(peak_of(b.last), 284);
}

TEST(spectrum_thread, makes_none_for_nobody) {
    block b;
    b.every = 0;
    b.slots(500, 1);
    EXPECT_EQ(b.made, 0);
    EXPECT_TRUE(b.spectra.take().empty());
}

TEST(spectrum_thread, makes_thirty_a_second_at_most_however_often_the_detail_is_sent) {
    spectrum_thread s;
    const auto x = tone(1, 1);
    int made = 0;
    for (std::int64_t air = 0; air < 1500; ++air) {
        s.samples(first_sample(slot(air)), x);
        s.on_slot(air, 1);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
        made += !s.take().empty();
    }
    EXPECT_LE(made, 30);
    EXPECT_GE(made, 1);
}

TEST(spectrum_thread,
     begins_again_after_a_jump_of_the_samples_and_follows_a_clock_that_jumped_back) {
    block b;
    b.slots(151, 30, 136);
    EXPECT_EQ(b.made, 1);
    EXPECT_NEAR(b.last[414], -6.02, 0.02) << "a stretch with a jump in it would be spread out";
    EXPECT_LT(b.last[384 + 60], -90);
    b.air = 0;
    b.slots(151, 40);
    EXPECT_EQ(b.made, 2);
    EXPECT_EQ(peak_of(b.last), 424);
}

TEST(spectrum_thread, ends_in_every_stage) {
    const auto x = tone(1, 1);
    for (int slots = 0; slots < 140; ++slots) {
        spectrum_thread s;
        for (std::int64_t air = 130; air < 130 + slots % 20; ++air) {
            s.samples(first_sample(slot(air)), x);
            s.on_slot(air, 150);
        }
    }
}

}  // namespace
