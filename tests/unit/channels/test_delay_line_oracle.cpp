// SPDX-License-Identifier: GPL-3.0-or-later
// The vectorised delay line against the plain one in double precision: where nothing moves, to
// rounding; where it fades, to the errors of its lines that its header derives.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

#include "fir_oracle.h"
#include "profiles/channel_definition.h"
#include "sample/tapped_delay_line.h"

using namespace wip::sample_model;
using wip::test::fir_oracle;

namespace {

constexpr double rate = 7.68e6;     // Hz
constexpr std::int64_t past = 400;  // samples, longer than the memory of every profile

// White noise over the whole sample rate, so that every coefficient counts.
cf32 input(std::int64_t n) {
    std::minstd_rand random(
        static_cast<std::uint32_t>(static_cast<std::uint64_t>(n) * 2654435761U % 2147483646 + 1));
    random.discard(3);
    const auto u = [&] { return static_cast<float>(random()) / 1073741824.0f - 1; };
    const float re = u();
    return {re, u()};
}

// Error over signal, dB, with the stream cut into pieces of changing size.
double error_db(const delay_profile& profile, const motion_config& movement, std::int64_t first,
                std::size_t count) {
    const motion m(movement, rate);
    tapped_delay_line line(profile, m, {rate, 11, 2});
    EXPECT_LT(line.memory(), past);
    std::vector<cf32> x(count + past), y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = input(first - past + static_cast<std::int64_t>(i));
    for (std::size_t at = 0, n = 1; at < x.size(); at += n, n = 1 + (at * 37) % 500) {
        n = std::min(n, x.size() - at);
        line.work(first - past + static_cast<std::int64_t>(at),
                  std::span<const cf32>(x).subspan(at, n), std::span<cf32>(y).subspan(at, n));
    }
    const auto exact = fir_oracle(profile, m, {rate, 11, 2}).outputs(first, count, input);
    double error = 0, power = 0;
    for (std::size_t i = 0; i < count; ++i) {
        error += std::norm(std::complex<double>(y[i + past]) - exact[i]);
        power += std::norm(exact[i]);
    }
    return 10 * std::log10(error / power);
}

double error_at(const std::string& name, double doppler_hz, std::int64_t first = 1000003) {
    return error_db(wip::profiles::load(name), {.path = constant_speed{doppler_hz}}, first, 3000);
}

TEST(DelayLineOracle, standing_still_it_is_the_formula_to_rounding) {
    for (const char* name :
         {"static", "jakes", "epa", "eva", "etu", "tdl-a", "tdl-c", "tdl-e", "winner"})
        EXPECT_LT(error_at(name, 0), -125) << name;
    EXPECT_LT(error_at("jakes", 0, -1500), -125);              // across zero
    EXPECT_LT(error_at("jakes", 0, 7680000LL * 90000), -125);  // after a day
}

TEST(DelayLineOracle, fading_it_errs_as_its_lines_do) {
    // Steps of 16 samples up to 374 Hz: 20 log10(2 pi f 16/(fs sqrt(24))); lines of 64 above:
    // (2 pi f 64/fs)^2/8 at most, its root mean square over a block being 0.73 of that.
    for (const char* name : {"jakes", "winner", "tdl-d"}) {
        EXPECT_LT(error_at(name, 5), -90) << name;
        EXPECT_LT(error_at(name, 125), -68) << name;
        EXPECT_LT(error_at(name, 370), -58) << name;
        EXPECT_LT(error_at(name, 500), -78) << name;
        EXPECT_LT(error_at(name, 2000), -56) << name;
    }
}

TEST(DelayLineOracle, trains_and_tracks_err_no_more) {
    const delay_profile line_of_sight{"los", {{0, 0, tap_fading::line_of_sight, 0}}};
    EXPECT_LT(error_db(line_of_sight, {.path = passing_train{}}, 7680000, 3000), -60);
    // A corner of a track, where the speed jumps from 30 to 10 m/s after 10 s: the curve between
    // two knots makes an acceleration of it, for 2048 samples (0.27 ms).
    const waypoint_track corner{{{0, 50, 30}, {300, 50, 10}, {300, 500, 10}}, true};
    const auto error = [&](std::int64_t first) {
        return error_db(wip::profiles::load("jakes"), {.path = corner}, first, 3000);
    };
    EXPECT_LT(error(76800000 - 5200), -62);
    EXPECT_LT(error(76800000 - 1500), -38);
    EXPECT_LT(error(76800000 + 2048), -62);
}

}  // namespace
