// SPDX-License-Identifier: GPL-3.0-or-later
// The inexact and moving parts of a front end: bounds, repeatability, and that a stretch does not
// depend on where a call begins.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <memory>
#include <numbers>
#include <set>
#include <vector>

#include "vusrp/analog_edge.h"

using namespace wip::vusrp;
using wip::db;

namespace {

constexpr double rate = 7.68e6, pi = std::numbers::pi;  // Hz
using samples = std::vector<cf32>;

TEST(AnalogEdge, a_gain_setting_is_off_within_its_limits_and_always_by_the_same) {
    const gain_error_limits limits{0.5, 20};
    std::set<double> levels, phases;
    double largest = 0;
    for (int gain = 0; gain < 76; ++gain) {
        const actual_gain e = error_of_gain(limits, 7, gain),
                          again = error_of_gain(limits, 7, gain);
        EXPECT_EQ(e.level.value, again.level.value);
        EXPECT_EQ(e.turns, again.turns);
        EXPECT_LE(std::abs(e.level.value), 0.5);
        EXPECT_LE(std::abs(e.turns), 20.0 / 360);
        largest = std::max(largest, std::abs(e.level.value));
        levels.insert(e.level.value);
        phases.insert(e.turns);
    }
    EXPECT_EQ(levels.size(), 76u);
    EXPECT_EQ(phases.size(), 76u);
    EXPECT_GT(largest, 0.4);
    EXPECT_NE(error_of_gain(limits, 7, 30).level.value, error_of_gain(limits, 8, 30).level.value);
    EXPECT_NE(error_of_gain(limits, 7, 30).level.value,
              error_of_gain(limits, 7, 30.25).level.value);
}

TEST(AnalogEdge, a_gain_goes_the_shorter_way_round) {
    const actual_gain half = between({db(10), 0.45}, {db(20), -0.45}, 0.5);
    EXPECT_DOUBLE_EQ(half.level.value, 15);
    EXPECT_NEAR(std::abs(half.turns), 0.5, 1e-12);
    const actual_gain end = between({db(10), 0.45}, {db(20), -0.45}, 1);
    EXPECT_NEAR(end.turns, -0.45, 1e-12);
}

// The deviation is the slope of what it turns, and stays within what the table says.
TEST(AnalogEdge, an_oscillator_wanders_within_its_limits_over_hours) {
    const wander_limits limits{0.02, 0.5, 0.2};
    double reached = 0;
    for (const std::uint32_t key : {1u, 2u, 3u}) {
        const oscillator_wander w(limits, key);
        EXPECT_EQ(w.parts(0), 0);
        EXPECT_EQ(w.turned_seconds(0), 0);
        for (double t = 10; t < 6 * 3600; t += 97) {
            const double slope = (w.turned_seconds(t + 0.5) - w.turned_seconds(t - 0.5));
            EXPECT_NEAR(slope, w.parts(t), 1e-11) << t;
            EXPECT_LE(std::abs(w.parts(t)), 1e-6 * (0.02 * t / 86400 + 0.5 + 2 * 0.2));
            reached = std::max(reached, std::abs(w.parts(t)));
        }
    }
    EXPECT_GT(reached, 0.2e-6);
}

TEST(AnalogEdge, a_carrier_turns_with_it_whatever_the_calls_are) {
    const wander_limits limits{0.02, 0.5, 0.2};
    const auto carrier = std::make_shared<std::atomic<double>>(1.8e9);
    const oscillator_wander w(limits, 9);
    const std::int64_t hour = std::int64_t(3600 * rate) + 77;
    for (const int sign : {1, -1}) {
        wander_stage stage(limits, 9, rate, sign, carrier);
        samples whole(5000, cf32(1)), parts = whole;
        stage.work(hour, whole);
        for (std::size_t done = 0; done < parts.size();) {
            const std::size_t n = std::min<std::size_t>(parts.size() - done, 1 + done % 613);
            stage.work(hour + std::int64_t(done), std::span(parts).subspan(done, n));
            done += n;
        }
        EXPECT_EQ(whole, parts);
        for (const std::size_t i : {std::size_t(0), std::size_t(1234), std::size_t(4999)}) {
            const double turns =
                sign * 1.8e9 * w.turned_seconds(double(hour + std::int64_t(i)) / rate);
            EXPECT_NEAR(std::abs(std::complex<double>(whole[i]) - std::polar(1.0, 2 * pi * turns)),
                        0, 2e-5);
        }
    }
}

front_end front_with(double dc_dbfs, double image_db) {
    front_end f{};
    f.dc_dbfs = dc_dbfs;
    f.image_db = image_db;
    return f;
}

// Constant within an interval, another one in the next; the mean is the constant part's, the spread
// that of the steps.
TEST(AnalogEdge, tracking_moves_the_offset_in_steps) {
    const tracking_steps steps{0.1, -60, 45};
    tracked_errors t(front_with(-50, 35), steps, 33, rate);
    const auto dc_at = [&t](std::int64_t n) {
        samples x(1);
        t.work(n, x);
        return std::complex<double>(x[0]);
    };
    const std::int64_t interval = 768'000;
    EXPECT_EQ(dc_at(3 * interval), dc_at(4 * interval - 1));
    EXPECT_NE(dc_at(4 * interval - 1), dc_at(4 * interval));
    std::complex<double> mean;
    double power = 0;
    constexpr int many = 400;
    for (int k = 0; k < many; ++k) mean += dc_at(k * interval) / double(many);
    for (int k = 0; k < many; ++k) power += std::norm(dc_at(k * interval) - mean) / many;
    EXPECT_NEAR(20 * std::log10(std::abs(mean)), -50, 0.5);
    EXPECT_NEAR(10 * std::log10(power), -60, 0.6);
    samples whole(2000, cf32(0.25f, -0.1f)), parts = whole;
    t.work(interval - 1000, whole);
    t.work(interval - 1000, std::span(parts).first(700));
    t.work(interval - 300, std::span(parts).subspan(700));
    EXPECT_EQ(whole, parts);
}

TEST(AnalogEdge, tracking_moves_the_image_in_steps) {
    const tracking_steps steps{0.1, -60, 45};
    tracked_errors t(front_with(-50, 35), steps, 33, rate);
    for (const std::int64_t k : {0, 1, 7}) {
        const auto r = t.at(k);
        samples x(768);
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = cf32(std::polar(0.5, 2 * pi * 50 * double(i) / 768));
        t.work(k * 768'000, x);
        std::complex<double> signal, image;
        for (std::size_t i = 0; i < x.size(); ++i) {
            const auto turn = std::polar(1.0 / 768, -2 * pi * 50 * double(i) / 768);
            signal += std::complex<double>(x[i]) * turn;
            image += std::complex<double>(x[i]) * std::conj(turn);
        }
        EXPECT_NEAR(std::abs(image / std::conj(signal) - r.image), 0, 1e-5);
        EXPECT_NEAR(std::norm(signal) + std::norm(image), 0.25, 1e-5);
    }
    EXPECT_GT(std::abs(t.at(0).image - t.at(1).image), 1e-3);
}

TEST(AnalogEdge, a_burst_comes_up_over_its_ramp) {
    burst_ramp ramp(16, 3);
    samples before(4, cf32(1)), x(23, cf32(1));
    ramp.work(before);
    EXPECT_EQ(before, samples(4, cf32(1)));  // no burst has begun
    ramp.begin();
    ramp.work(std::span(x).first(7));
    ramp.work(std::span(x).subspan(7));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(x[i], cf32(0));
    for (std::size_t i = 0; i < 16; ++i)
        EXPECT_NEAR(x[3 + i].real(), 0.5 - 0.5 * std::cos(pi * (double(i) + 0.5) / 16), 1e-6);
    for (std::size_t i = 19; i < 23; ++i) EXPECT_EQ(x[i], cf32(1));
}

}  // namespace
