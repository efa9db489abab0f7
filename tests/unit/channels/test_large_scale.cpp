// SPDX-License-Identifier: GPL-3.0-or-later
// Shadowing, path loss and blackout against theory. Limits of the statistics are about four
// standard deviations of the estimates.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "sample/large_scale.h"
#include "sample/large_scale_gain.h"

using namespace wip::sample_model;

namespace {

constexpr double rate = 7.68e6;  // Hz
std::int64_t at(double seconds) { return std::llround(seconds * rate); }

std::vector<double> walk(const shadowing_config& c, double step_m, int steps,
                         std::uint64_t seed = 1) {
    shadowing s(c, {rate, seed, 0});
    std::vector<double> db;
    for (int i = 0; i < steps; ++i) db.push_back(s.gain(i * step_m).value);
    return db;
}

struct moments {
    double mean = 0, deviation = 0, skewness = 0, kurtosis = 0;
};
moments moments_of(const std::vector<double>& x) {
    moments m;
    for (double v : x) m.mean += v / static_cast<double>(x.size());
    double m2 = 0, m3 = 0, m4 = 0;
    for (double v : x) {
        const double d = v - m.mean;
        m2 += d * d;
        m3 += d * d * d;
        m4 += d * d * d * d;
    }
    const double n = static_cast<double>(x.size());
    m.deviation = std::sqrt(m2 / n);
    m.skewness = m3 / n / std::pow(m2 / n, 1.5);
    m.kurtosis = m4 / n / std::pow(m2 / n, 2);
    return m;
}

TEST(Shadowing, is_normal_in_db_with_its_deviation) {
    // 8000 places 3 correlation lengths apart: independent within e^-3.
    for (const double sigma : {2.0, 4.0, 8.0}) {
        const moments m = moments_of(walk({sigma, 2, 0.74, false}, 6.1, 8000));
        EXPECT_NEAR(m.mean / sigma, 0, 0.05);
        EXPECT_NEAR(m.deviation / sigma, 1, 0.035);
        EXPECT_NEAR(m.skewness, 0, 0.12);
        EXPECT_NEAR(m.kurtosis, 3, 0.23);
    }
}

TEST(Shadowing, variance_is_the_same_between_the_steps_of_the_process) {
    // Places in the middle of fine steps, where joining would lose variance.
    const double fine = -2 * std::log(0.74) / 8;
    shadowing s({4, 2, 0.74, false}, {rate, 3, 0});
    std::vector<double> middle;
    for (int i = 0; i < 8000; ++i) middle.push_back(s.gain((i * 27 + 0.5) * fine).value);
    EXPECT_NEAR(moments_of(middle).deviation, 4, 0.14);
}

TEST(Shadowing, autocorrelation_is_exponential_and_the_pole_that_of_the_text) {
    // step of the literature's AR(1) with coefficient 0.74
    const double step = -2 * std::log(0.74);
    const int n = 100000;
    const std::vector<double> x = walk({4, 2, 0.74, false}, step / 2, n);
    const auto r = [&](int lag) {
        double sum = 0;
        for (int i = 0; i + lag < n; ++i)
            sum += x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i + lag)];
        return sum / (n - lag) / 16;
    };
    for (const int lag : {0, 1, 2, 4, 6, 8, 12})
        EXPECT_NEAR(r(lag), std::pow(0.74, lag / 2.0), 0.05) << lag;
    // AR(1): the partial correlation at two steps vanishes.
    const double one = r(2) / r(0), two = r(4) / r(0);
    EXPECT_NEAR((two - one * one) / (1 - one * one), 0, 0.02);
    EXPECT_NEAR(r(2), 0.74, 0.03);
}

TEST(Shadowing, mean_of_the_linear_gain_is_one) {
    double sum = 0;
    const std::vector<double> x = walk({4, 2, 0.74, true}, 6.1, 15000);
    for (double db : x) sum += std::pow(10, db / 10) / 15000;
    EXPECT_NEAR(sum, 1, 0.04);
}

TEST(Shadowing, is_a_function_of_seed_and_place_wherever_it_starts) {
    shadowing a({}, {rate, 9, 1}), b({}, {rate, 9, 1}), other({}, {rate, 9, 2});
    int differ = 0;
    for (int i = 0; i < 200; ++i) a.gain(i * 0.05);
    for (int i = 199; i >= 0; --i) {
        EXPECT_EQ(a.gain(i * 0.05).value, b.gain(i * 0.05).value);
        differ += a.gain(i * 0.05).value != other.gain(i * 0.05).value;
    }
    EXPECT_EQ(differ, 200);
}

TEST(LargeScale, path_loss_falls_with_the_exponent_between_its_limits) {
    // Straight away from the base station, 10 m/s from 100 m on.
    const motion m({.path = waypoint_track{{{100, 0, 10}, {1e5, 0, 10}}, false}}, rate);
    large_scale g({.path_loss = path_loss_config{3.76, 500, 200}}, m, {rate, 1, 0});
    EXPECT_NEAR(g.slow(at(40)).value, 0, 1e-3);                               // 500 m
    EXPECT_NEAR(g.slow(at(490)).value, -37.6, 1e-3);                          // 5 km
    EXPECT_NEAR(g.slow(at(0)).value, -37.6 * std::log10(200.0 / 500), 1e-3);  // held
    EXPECT_NEAR(g.slow(at(90)).value - g.slow(at(40)).value, -37.6 * std::log10(2), 1e-3);
}

TEST(LargeScale, blackout_begins_and_ends_at_its_sample_again_and_again) {
    large_scale g({.blackouts = {{2, 0.2, 5, 70}}}, motion({}, rate), {rate, 1, 0});
    for (int k = 0; k < 4; ++k) {
        const std::int64_t on = at(2 + 5 * k), off = at(2.2 + 5 * k);
        EXPECT_EQ(g.gain(on - 1).value, 0);
        EXPECT_EQ(g.gain(on).value, -70);
        EXPECT_EQ(g.gain(off - 1).value, -70);
        EXPECT_EQ(g.gain(off).value, 0);
        EXPECT_EQ(g.next_blackout_change(on - 1), on);
        EXPECT_EQ(g.next_blackout_change(on), off);
        EXPECT_EQ(g.next_blackout_change(off), at(2 + 5 * (k + 1)));
    }
}

TEST(LargeScale, refuses_what_is_wrong) {
    const motion still({}, rate);
    const auto make = [&](large_scale_config c) { large_scale g(c, still, {}); };
    EXPECT_THROW(make({.shadowing = shadowing_config{21}}), std::invalid_argument);
    EXPECT_THROW(make({.shadowing = shadowing_config{4, 0}}), std::invalid_argument);
    EXPECT_THROW(make({.shadowing = shadowing_config{4, 2, 1}}), std::invalid_argument);
    EXPECT_THROW(make({.path_loss = path_loss_config{9}}), std::invalid_argument);
    EXPECT_THROW(make({.path_loss = path_loss_config{3, 10, 20}}), std::invalid_argument);
    EXPECT_THROW(make({.blackouts = {{1, 2, 1}}}), std::invalid_argument);
    EXPECT_THROW(make({.blackouts = {{1, 0}}}), std::invalid_argument);
}

// --- the attenuator that plays it ---

TEST(Attenuator, holds_the_level_of_each_ticks_begin_in_its_steps) {
    const large_scale_config smooth{.shadowing = shadowing_config{.deviation_db = 4}};
    large_scale_config played = smooth;
    played.attenuator = attenuator_config{};
    const motion driving({.path = constant_speed{50}}, rate);
    large_scale a(smooth, driving, {rate, 7, 0}), b(played, driving, {rate, 7, 0});
    EXPECT_FALSE(a.in_steps());
    EXPECT_TRUE(b.in_steps());
    double worst = 0;
    for (std::int64_t tick = 0; tick < 20000; tick += 7) {
        const double level = b.slow(tick * 7680).value, exact = a.slow(tick * 7680).value;
        EXPECT_DOUBLE_EQ(level * 4, std::round(level * 4));
        EXPECT_DOUBLE_EQ(b.slow(tick * 7680 + 7679).value, level);
        worst = std::max(worst, std::abs(level - exact));
    }
    EXPECT_LE(worst, 0.125 + 1e-9);
    EXPECT_GT(worst, 0.12);
}

TEST(Attenuator, has_no_more_than_its_range) {
    large_scale_config c{.shadowing = shadowing_config{.deviation_db = 20, .linear_mean = false},
                         .attenuator = attenuator_config{.headroom_db = 5, .range_db = 12}};
    const motion driving({.path = constant_speed{50}}, rate);
    large_scale played(c, driving, {rate, 3, 0});
    double least = 100, most = -100;
    for (int ms = 0; ms < 20000; ms += 20) {
        const double level = played.slow(at(ms / 1e3)).value;
        least = std::min(least, level);
        most = std::max(most, level);
    }
    EXPECT_DOUBLE_EQ(least, -7);
    EXPECT_DOUBLE_EQ(most, 5);
    c.attenuator->range_db = 128;
    EXPECT_THROW(large_scale(c, driving, {rate, 3, 0}), std::invalid_argument);
}

TEST(Attenuator, makes_steps_of_the_samples_at_its_ticks_however_they_are_cut) {
    const large_scale_config c{.shadowing = shadowing_config{},
                               .attenuator = attenuator_config{.step_db = 0.01}};
    const motion driving({.path = constant_speed{100}}, rate);
    large_scale_gain whole(c, driving, {rate, 1, 0}), cut(c, driving, {rate, 1, 0});
    std::vector<cf32> x(40000, cf32{1, 0}), y(x.size()), z(x.size());
    whole.work(0, x, y);
    for (std::size_t i = 0; i < x.size(); i += 1000)
        cut.work(static_cast<std::int64_t>(i), std::span(x).subspan(i, 1000),
                 std::span(z).subspan(i, 1000));
    EXPECT_EQ(y, z);
    for (std::size_t i = 1; i < y.size(); ++i) EXPECT_TRUE(i % 7680 == 0 || y[i] == y[i - 1]) << i;
    EXPECT_NE(y[7679], y[7680]);
}

}  // namespace
