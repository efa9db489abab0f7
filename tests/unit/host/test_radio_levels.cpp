// SPDX-License-Identifier: GPL-3.0-or-later
// Errors that are put into samples are found in them: noise, constant, clipping, images and
// leakage; and the lead that is searched for is that of the device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "radio/lateness.h"
#include "radio/levels.h"

namespace wip::radio {
namespace {

constexpr std::size_t some = 1 << 19;  // samples

double amplitude(double dbfs) { return std::pow(10, dbfs / 20); }

// Samples with what the test adds to them.
struct received {
    std::vector<cf32> x = std::vector<cf32>(some);

    received& noise(double dbfs) {
        std::mt19937 random(7);
        std::normal_distribution<float> part(
            0, static_cast<float>(amplitude(dbfs) * std::numbers::sqrt2 / 2));
        for (cf32& v : x) v += cf32(part(random), part(random));
        return *this;
    }
    received& tone(double dbfs, double frequency) {
        for (std::size_t n = 0; n < x.size(); ++n) {
            const double cycles = frequency * static_cast<double>(n);
            x[n] += cf32(
                std::polar(amplitude(dbfs), 2 * std::numbers::pi * (cycles - std::floor(cycles))));
        }
        return *this;
    }
    received& clip() {
        for (cf32& v : x) v = {std::clamp(v.real(), -1.F, 1.F), std::clamp(v.imag(), -1.F, 1.F)};
        return *this;
    }
};

TEST(Levels, noise_is_found_beside_a_tone_and_a_constant) {
    const auto r = received().noise(-62).tone(-10, 0.11).tone(-45, 0);
    const level_summary l = levels_of(r.x, 0);
    EXPECT_NEAR(l.noise_dbfs, -62, 0.1);
    EXPECT_NEAR(l.dc_dbfs, -45, 0.05);
    EXPECT_NEAR(l.power_dbfs, -10, 0.05);
    EXPECT_EQ(l.clipped, 0);
}

TEST(Levels, the_constant_is_where_the_oscillator_is) {
    const auto r = received().noise(-80).tone(-45, 0.02);
    EXPECT_NEAR(levels_of(r.x, 0.02).dc_dbfs, -45, 0.05);
    EXPECT_LT(levels_of(r.x, 0).dc_dbfs, -100);
}

TEST(Levels, the_clipped_share_of_a_tone_is_that_of_its_arcs) {
    const double high = 1.25;
    const auto r = received().tone(20 * std::log10(high), 0.1234567).clip();
    const level_summary l = levels_of(r.x, 0);
    EXPECT_NEAR(l.clipped, 4 / std::numbers::pi * std::acos(1 / high), 0.005);
    EXPECT_DOUBLE_EQ(l.peak_dbfs, 0);
}

TEST(Tone, images_and_leakage_of_both_mixers_are_told_apart_though_the_oscillators_differ) {
    const double receiver = 0.001, transmitter = 0.004, tone = 0.12, off = 0.0013;
    const double at = tone + off, lo = transmitter + off;
    const auto r = received()
                       .noise(-70)
                       .tone(-12, at)
                       .tone(-12 - 31, 2 * receiver - at)
                       .tone(-12 - 38, 2 * lo - at)
                       .tone(-12 - 44, lo)
                       .tone(-50, receiver);
    const auto t = measure_tone(r.x, {tone, receiver, transmitter}, 0.005);
    ASSERT_TRUE(t);
    EXPECT_NEAR(t->frequency, at, 1e-8);
    EXPECT_NEAR(t->dbfs, -12, 0.05);
    EXPECT_NEAR(t->receive_image.dbfs, 31, 0.1);
    EXPECT_NEAR(t->transmit_image.dbfs, 38, 0.1);
    EXPECT_NEAR(t->leakage.dbfs, 44, 0.1);
    EXPECT_TRUE(t->leakage.above_noise);
}

TEST(Tone, an_image_below_the_noise_is_bounded_by_it) {
    const auto t = measure_tone(received().noise(-40).tone(-12, 0.12).x, {0.12, 0, 0.002}, 0.005);
    ASSERT_TRUE(t);
    EXPECT_FALSE(t->receive_image.above_noise);
    // Noise of one line: -40 dBFS, of which 2.0 / 2^16 fall into the window.
    EXPECT_NEAR(t->receive_image.dbfs, -12 + 40 + 45.1, 3);
}

TEST(Tone, without_one_there_is_none) {
    EXPECT_FALSE(measure_tone(received().noise(-40).x, {0.12, 0, 0.002}, 0.005));
    EXPECT_FALSE(measure_tone(received().noise(-40).tone(-12, 0.2).x, {0.12, 0, 0.002}, 0.005));
}

TEST(Spectrum, a_tone_of_amplitude_1_is_0_dBFS_at_its_point) {
    const auto p = spectrum_of(received().tone(0, 0.25).x, 76800);
    ASSERT_EQ(p.mean.size(), 768u);
    EXPECT_NEAR(p.mean[768 * 3 / 4], 0, 0.01);
    EXPECT_NEAR(p.most[768 * 3 / 4], 0, 0.01);
    EXPECT_LT(p.mean[768 / 4], -80);
}

TEST(Lateness, the_bound_of_a_share_is_exact) {
    EXPECT_NEAR(share_at_most(0, 29956), 1e-4, 1e-6);  // 1 - 0.05^(1/n)
    EXPECT_NEAR(share_at_most(0, 10), 1 - std::pow(0.05, 0.1), 1e-9);
    EXPECT_NEAR(share_at_most(1, 2), std::sqrt(0.95), 1e-9);  // p^2 = 0.95: both late
    EXPECT_EQ(share_at_most(3, 3), 1);
}

struct outcome {
    lead_search search;
    int bursts = 0;
};

// A device whose bursts take `fixed` plus 0 to `spread`, a share of them `longer`.
outcome searched(double fixed, double spread, double share = 0, double longer = 0) {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> part(0, 1);
    outcome o;
    for (; o.bursts < 60'000 && !o.search.shown(); ++o.bursts) {
        double takes = fixed + spread * part(random);
        if (part(random) < share) takes += longer;
        o.search.add(takes > o.search.next());
    }
    return o;
}

TEST(Lateness, the_shortest_lead_with_one_late_in_ten_thousand_is_found) {
    const auto b210 = searched(80e-6, 125e-6).search;
    ASSERT_TRUE(b210.shown());
    EXPECT_GE(b210.next(), 204e-6);
    EXPECT_LE(b210.next(), 231e-6);  // an eighth
    for (const lead_count& c : b210.counts()) {
        if (c.lead_s < 80e-6) {
            EXPECT_EQ(c.late, c.bursts);
        } else if (c.lead_s > 205e-6) {
            EXPECT_EQ(c.late, 0);
        }
    }
}

TEST(Lateness, a_rare_stall_makes_the_lead_longer_than_what_most_need) {
    const auto o = searched(80e-6, 20e-6, 1e-3, 1.5e-3).search;
    ASSERT_TRUE(o.shown());
    EXPECT_GT(o.next(), 1.5e-3);
    EXPECT_LT(o.next(), 2.4e-3);
}

TEST(Lateness, what_is_late_at_every_lead_is_not_shown) {
    const auto o = searched(80e-6, 20e-6, 1e-3, 1.0);
    EXPECT_FALSE(o.search.shown());
    EXPECT_EQ(o.bursts, 60'000);
}

}  // namespace
}  // namespace wip::radio
