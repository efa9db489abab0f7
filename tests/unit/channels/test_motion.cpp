// SPDX-License-Identifier: GPL-3.0-or-later
// Movement against its formulas: shifts are the derivative of phases, tracks go where they should,
// and the taps of a channel follow the shift.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "profiles/channel_definition.h"
#include "sample/motion.h"
#include "sample/tapped_delay_line.h"
#include "types/lanes.h"

using namespace wip::sample_model;
using wip::profiles::load_definition;
using wip::profiles::realise;

namespace {

constexpr double rate = 7.68e6;  // Hz
std::int64_t at(double seconds) { return std::llround(seconds * rate); }

motion movement_of(const std::string& name, std::size_t user = 0, std::uint64_t seed = 1) {
    wip::profiles::channel_choice choice;
    choice.user = user;
    return motion(realise(load_definition(name), choice, seed).movement, rate);
}

// Shift from the phase over 2000 samples around n.
double shift_of_phase(const motion& m, std::int64_t n) {
    return (m.direct_turns(n + 1000) - m.direct_turns(n - 1000)) * rate / 2000;
}

TEST(Motion, train_has_the_trajectory_of_ts_36_104_annex_b_3) {
    struct scenario {
        const char* name;
        double fd, v, ds, dmin;
    };
    for (const scenario& s : {scenario{"hst", 1340, 350 / 3.6, 1000, 50},
                              scenario{"hst-tunnel", 1150, 300 / 3.6, 300, 2}}) {
        const motion m = movement_of(s.name);
        for (double t = 0.001; t < 4.5 * s.ds / s.v; t += 0.0371) {
            const double x = std::fmod(t, 2 * s.ds / s.v) * s.v;
            const double top = x <= s.ds ? s.ds / 2 - x : x - 1.5 * s.ds;
            EXPECT_NEAR(m.direct_hz(at(t)), s.fd * top / std::hypot(s.dmin, top), 0.01) << t;
            if (std::abs(std::remainder(x, s.ds)) > 1) {
                // samples that are not at a joint of the spline
                EXPECT_NEAR(shift_of_phase(m, at(t)), m.direct_hz(at(t)), 0.2) << t;
            }
        }
        // The shift passes through zero beside the base station and the phase returns each period.
        EXPECT_NEAR(m.direct_hz(at(s.ds / 2 / s.v)), 0, 0.01);
        EXPECT_NEAR(m.direct_turns(at(2 * s.ds / s.v)), 0, 0.001);
    }
}

TEST(Motion, tap_of_a_train_turns_with_the_trajectory_in_the_samples) {
    const motion m = movement_of("hst-tunnel");
    const auto config = realise(load_definition("hst-tunnel"), {}, 1);
    tapped_delay_line line(config.profile, m, {rate, 1, 0});
    for (double t = 0.01; t < 8; t += 0.0913) {
        cf32 a, b;
        line.gains(at(t) - 200, {&a, 1});
        line.gains(at(t) + 200, {&b, 1});
        EXPECT_NEAR(std::abs(a), 1, 1e-4);
        const double hz = std::arg(std::conj(a) * b) / (2 * std::numbers::pi) * rate / 400;
        EXPECT_NEAR(hz, m.direct_hz(at(t)), 2) << t;
    }
}

TEST(Motion, track_goes_from_point_to_point_at_its_speeds_and_round_again) {
    // A right triangle: 300 m at 30 m/s, 400 m at 20 m/s, 500 m at 10 m/s.
    const motion m({.path = waypoint_track{{{0, 100, 30}, {300, 100, 20}, {300, 500, 10}}, true},
                    .carrier_hz = 1.8e9},
                   rate);
    const double wavelength = speed_of_light / 1.8e9;
    EXPECT_NEAR(m.metres(at(5)), 150, 1e-3);
    EXPECT_NEAR(m.distance_m(at(5)), std::hypot(150, 100), 1e-3);
    EXPECT_NEAR(m.speed_mps(at(15)), 20, 1e-9);
    EXPECT_NEAR(m.metres(at(20)), 500, 1e-3);
    EXPECT_NEAR(m.distance_m(at(20)), std::hypot(300, 300), 1e-3);
    EXPECT_NEAR(m.metres(at(80 + 5)), 1200 + 150, 1e-3);  // the second round
    EXPECT_NEAR(m.distance_m(at(80 + 5)), std::hypot(150, 100), 1e-3);
    EXPECT_NEAR(m.largest_doppler_hz(), 30 / wavelength, 1e-9);
    for (double t : {1.0, 12.0, 40.0, 79.0, 100.0})
        EXPECT_NEAR(shift_of_phase(m, at(t)), m.direct_hz(at(t)), 0.05) << t;
}

TEST(Motion, open_track_stops_at_its_end) {
    const motion m({.path = waypoint_track{{{100, 0, 10}, {200, 0, 99}}, false}}, rate);
    EXPECT_NEAR(m.metres(at(10)), 100, 1e-3);
    EXPECT_NEAR(m.metres(at(1000)), 100, 1e-3);
    EXPECT_EQ(m.doppler_hz(at(1000)), 0);
    EXPECT_NEAR(m.distance_m(at(1000)), 200, 1e-6);
}

TEST(Motion, fading_at_a_speed_that_does_not_change_is_the_same_along_a_track) {
    // A straight road, driven at 20 m/s, against constant_speed of the same shift.
    const double doppler = 20 * 1.8e9 / speed_of_light;
    const motion road({.path = waypoint_track{{{0, 50, 20}, {1e5, 50, 20}}, false}}, rate);
    const motion steady({.path = constant_speed{doppler}}, rate);
    const auto profile = wip::profiles::load("jakes");
    const tap_processes a(profile, road, {rate, 7, 3}), b(profile, steady, {rate, 7, 3});
    std::vector<clarke_waves::knot> x(a.size()), y(a.size());
    for (std::int64_t n = 0; n < at(60); n += 7654321) {
        a.evaluate(n, x);
        b.evaluate(n, y);
        for (std::size_t p = 0; p < a.size(); ++p) {
            EXPECT_LT(std::abs(x[p].value - y[p].value), 1e-4) << n;
            EXPECT_LT(std::abs(x[p].slope - y[p].slope), 1e-7) << n;  // a slope of 1e-4
        }
    }
}

TEST(Motion, delay_line_and_tap_processes_are_one_channel) {
    for (const char* name : {"jakes", "winner", "hst", "two-user"}) {
        const auto config = realise(load_definition(name), {}, 5);
        const motion m(config.movement, rate);
        const tapped_delay_line line(config.profile, m, {rate, 5, 2});
        const tap_processes taps(config.profile, m, {rate, 5, 2});
        std::vector<cf32> g(taps.size());
        std::vector<clarke_waves::knot> exact(taps.size());
        for (std::int64_t n = 12345; n < at(20); n += 5432101) {
            line.gains(n, g);
            taps.evaluate(n, exact);
            for (std::size_t p = 0; p < g.size(); ++p)
                EXPECT_LT(std::abs(g[p] - exact[p].value), 3e-4) << name << " tap " << p;
        }
    }
}

TEST(Motion, waves_of_all_taps_at_once_are_bit_for_bit_those_of_each) {
    for (const std::size_t count : {1U, 3U, static_cast<unsigned>(wip::nof_lanes)}) {
        std::vector<clarke_waves> each;
        for (std::uint32_t p = 0; p < count; ++p) each.emplace_back(125, rate, 4096, 5, p);
        const clarke_row row(each, true);
        ASSERT_EQ(row.size(), count);
        std::vector<clarke_waves::knot> all(count);
        for (std::int64_t k = -3; k < 10'000'000; k += 123456) {
            row.evaluate(static_cast<double>(k), 1, all.data());
            for (std::size_t p = 0; p < count; ++p) {
                clarke_waves::knot alone;
                clarke_row({&each[p], 1}, true).evaluate(static_cast<double>(k), 1, &alone);
                EXPECT_EQ(all[p].value, alone.value) << p << " at " << k;
                EXPECT_EQ(all[p].slope, alone.slope) << p << " at " << k;
            }
        }
    }
}

TEST(Motion, refuses_what_is_wrong) {
    const auto make = [](motion_config c) { motion m(c, rate); };
    EXPECT_THROW(make({.path = constant_speed{2001}}), std::invalid_argument);
    EXPECT_THROW(make({.path = constant_speed{-1}}), std::invalid_argument);
    EXPECT_THROW(make({.path = waypoint_track{}}), std::invalid_argument);
    EXPECT_THROW(make({.path = waypoint_track{{{0, 0, 0}, {1, 0, 1}}}}), std::invalid_argument);
    EXPECT_THROW(make({.path = waypoint_track{{{0, 0, 400}, {1, 0, 1}}}}), std::invalid_argument);
    EXPECT_THROW(make({.path = passing_train{1340, 100, 0, 50}}), std::invalid_argument);
    EXPECT_THROW(make({.path = constant_speed{1}, .carrier_hz = 0}), std::invalid_argument);
}

}  // namespace
