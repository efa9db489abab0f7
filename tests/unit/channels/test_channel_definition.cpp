// SPDX-License-Identifier: GPL-3.0-or-later
// Channel definitions: what the built-in ones say, what files may say, and how errors read.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <set>

#include "profiles/channel_definition.h"

using namespace wip::profiles;
using namespace wip::sample_model;

namespace {

std::string error_of(const std::string& text) {
    try {
        parse_definition(text, "d.yaml");
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "accepted";
}

const std::string head = "name: n\nsource: s\n";
const std::string one_tap = head + "taps: [{delay_ns: 0, power_db: 0}]\n";

TEST(ChannelDefinition, every_builtin_one_has_a_source_and_becomes_a_channel) {
    for (const std::string& name : names()) {
        const channel_definition d = load_definition(name);
        EXPECT_EQ(d.name, name);
        EXPECT_GT(d.source.size(), 10u) << name;
        const channel_config c = realise(d, {}, 1);
        const motion m(c.movement, 7.68e6);
        large_scale(c.large_scale, m, {});
        EXPECT_EQ(parse_definition(d.text, "again.yaml").profile.taps.size(),
                  d.profile.taps.size());
    }
}

TEST(ChannelDefinition, jakes_carries_the_shadowing_of_the_text) {
    const channel_definition d = load_definition("jakes");
    ASSERT_TRUE(d.shadowing);
    EXPECT_EQ(d.shadowing->deviation_db, 4);
    EXPECT_EQ(d.shadowing->pole, 0.74);
    EXPECT_EQ(d.shadowing->correlation_m, 2);
    EXPECT_NEAR(std::get<constant_speed>(realise(d, {}, 1).movement.path).doppler_hz, 125.1, 0.05);
    EXPECT_TRUE(realise(d, {}, 1).large_scale.shadowing);
    EXPECT_FALSE(realise(d, {.shadowing = channel_choice::use::off}, 1).large_scale.shadowing);
    EXPECT_EQ(realise(d, {.shadowing_db = 2}, 1).large_scale.shadowing->deviation_db, 2);
    // The other reading of "a variance of 4 dB".
    const auto other = parse_definition(
        "name: n\nsource: s\nbased_on: jakes\nshadowing: {spread_db: 4, reading: variance}", "f");
    EXPECT_EQ(other.shadowing->deviation_db, 2);
    // And a third: the noise that drives the process has that variance.
    const auto driven = parse_definition(
        "name: n\nsource: s\nbased_on: jakes\nshadowing: {spread_db: 4, reading: innovation}", "f");
    EXPECT_NEAR(driven.shadowing->deviation_db, 2.973, 0.001);
}

TEST(ChannelDefinition, winner_has_the_twenty_clusters_of_the_table_and_a_speed_from_the_seed) {
    const channel_definition d = load_definition("winner");
    EXPECT_EQ(d.profile.taps.size(), 24u);  // two clusters are three taps each
    // Delay spread of the table's cluster powers, the sub-clusters lumped at their mean place.
    const double delays[] = {0,   60,  75,  149, 150, 190, 220,  335,  370,  430,
                             510, 685, 725, 735, 800, 960, 1020, 1100, 1210, 1845};
    const double powers[] = {-6.4, -3.4,  -2.0, 0,     -1.9,  -3.4,  -0.4,  -4.6,  -7.8,  -7.8,
                             -9.3, -12.0, -8.5, -13.2, -11.2, -20.8, -14.5, -11.7, -17.2, -16.7};
    double sum = 0, first = 0, second = 0;
    for (int i = 0; i < 20; ++i) {
        const double p = std::pow(10, powers[i] / 10);
        sum += p;
        first += p * delays[i];
        second += p * delays[i] * delays[i];
    }
    const double spread = std::sqrt(second / sum - first / sum * first / sum);
    EXPECT_NEAR(d.profile.rms_delay_spread_s() * 1e9, spread, 3);
    // The scenario's median is 234 ns (D1.1.2 table 4-5, 10^-6.63 s).
    EXPECT_NEAR(d.profile.rms_delay_spread_s() * 1e9, 234, 4);
    EXPECT_EQ(d.carrier_hz, 1.9e9);
    EXPECT_FALSE(realise(d, {}, 1).large_scale.shadowing);
    EXPECT_EQ(
        realise(d, {.shadowing = channel_choice::use::on}, 1).large_scale.shadowing->deviation_db,
        8);
    double slowest = 1e9, fastest = 0, mean = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const double kmh = std::get<constant_speed>(realise(d, {}, seed).movement.path).doppler_hz *
                           speed_of_light / 1.9e9 * 3.6;
        slowest = std::min(slowest, kmh);
        fastest = std::max(fastest, kmh);
        mean += kmh / 400;
    }
    EXPECT_GE(slowest, 0);
    EXPECT_LE(fastest, 70);
    EXPECT_NEAR(mean, 35, 4);  // 4 standard deviations
    EXPECT_LT(slowest, 2);
    EXPECT_GT(fastest, 68);
}

TEST(ChannelDefinition, users_have_their_own_tracks_and_random_ones_differ_by_seed_and_number) {
    const channel_definition two = load_definition("two-user");
    EXPECT_EQ(two.nof_users(), 2u);
    EXPECT_EQ(two.users[1].name, "passing");
    EXPECT_THROW(realise(two, {.user = 2}, 1), std::invalid_argument);
    EXPECT_THROW(realise(two, {.speed_kmh = 30}, 1), std::invalid_argument);
    const channel_definition many = load_definition("n-user");
    std::set<double> starts;
    for (std::size_t user = 0; user < many.nof_users(); ++user)
        for (std::uint64_t seed = 1; seed < 4; ++seed) {
            const auto c = realise(many, {.user = user}, seed);
            const auto& p = std::get<waypoint_track>(c.movement.path).points;
            ASSERT_EQ(p.size(), 2u);
            for (const waypoint& w : p) {
                EXPECT_GE(std::hypot(w.x_m, w.y_m), 35 - 1e-9);
                EXPECT_LE(std::hypot(w.x_m, w.y_m), 1000 + 1e-9);
                EXPECT_GE(w.speed_mps * 3.6, 3 - 1e-9);
                EXPECT_LE(w.speed_mps * 3.6, 75 + 1e-9);
            }
            starts.insert(p[0].x_m);
        }
    EXPECT_EQ(starts.size(), 3 * many.nof_users());
}

TEST(ChannelDefinition, based_on_takes_what_is_not_said_and_looks_beside_the_file) {
    const std::string folder = testing::TempDir();
    std::ofstream(folder + "base_of_a_test.yaml") << one_tap << "speed_kmh: 12\n";
    std::ofstream(folder + "top_of_a_test.yaml")
        << "name: top\nsource: t\nbased_on: base_of_a_test.yaml\nblackout: [{duration_s: 0.5}]\n";
    const channel_definition d = load_definition(folder + "top_of_a_test.yaml");
    EXPECT_EQ(d.name, "top");
    EXPECT_EQ(d.speed.lowest_kmh, 12);
    EXPECT_EQ(d.profile.taps.size(), 1u);
    ASSERT_EQ(d.blackouts.size(), 1u);
    EXPECT_EQ(d.blackouts[0].duration_s, 0.5);
    std::remove((folder + "base_of_a_test.yaml").c_str());
    std::remove((folder + "top_of_a_test.yaml").c_str());
    // Taps of its own make the other file's delay spread meaningless.
    EXPECT_EQ(error_of(one_tap + "based_on: tdl-a"), "accepted");
    // A file that is based on itself.
    std::ofstream(folder + "loop_of_a_test.yaml")
        << "name: top\nsource: t\nbased_on: loop_of_a_test.yaml\n";
    EXPECT_THROW(load_definition(folder + "loop_of_a_test.yaml"), std::invalid_argument);
    std::remove((folder + "loop_of_a_test.yaml").c_str());
}

TEST(ChannelDefinition, refuses_what_is_wrong_with_one_line_that_names_the_key) {
    const std::pair<std::string, std::string> cases[] = {
        {one_tap + "colour: 1", "colour"},
        {one_tap + "carrier_hz: 1", "carrier_hz"},
        {one_tap + "speed_kmh: 501", "speed_kmh"},
        {one_tap + "speed_kmh: {lowest: 3, highest: 2}", "speed_kmh.lowest"},
        {one_tap + "speed_kmh: {slow: 3}", "speed_kmh.slow"},
        {one_tap + "shadowing: {spread_db: 21}", "shadowing.spread_db"},
        {one_tap + "shadowing: {spread_db: -1}", "shadowing.spread_db"},
        {one_tap + "shadowing: {reading: power}", "shadowing.reading"},
        {one_tap + "shadowing: {pole: 1}", "shadowing.pole"},
        {one_tap + "shadowing: {mean: median}", "shadowing.mean"},
        {one_tap + "shadowing: {default: maybe}", "shadowing.default"},
        {one_tap + "shadowing: 4", "shadowing"},
        {one_tap + "train: {doppler_hz: 2001}", "train.doppler_hz"},
        {one_tap + "train: {speed_kmh: 300}\nspeed_kmh: 3", "speed_kmh"},
        {one_tap + "train: {speed_kmh: 300}\nrandom_users: {inner_m: 1}", "file"},
        {one_tap + "path_loss: {exponent: 3}", "path_loss"},
        {one_tap + "users: []", "users"},
        {one_tap + "users: [{name: a}]", "users[0].track"},
        {one_tap + "users: [{name: a, track: [{x_m: 1, y_m: 0}, {x_m: 2, y_m: 0}]}]",
         "users[0].track"},
        {one_tap + "users: [{track: [{x_m: 1, y_m: 0}]}]", "users[0].name"},
        {one_tap + "random_users: {inner_m: 9, outer_m: 8}", "random_users.inner_m"},
        {one_tap + "random_users: {slowest_kmh: 9, fastest_kmh: 8}", "random_users.slowest_kmh"},
        {one_tap + "blackout: {start_s: 1}", "blackout"},
        {one_tap + "blackout: [{start_s: x}]", "blackout[0].start_s"},
        {one_tap + "blackout: [{duration_s: 2, period_s: 1}]", "blackout[0]"},
        {head + "based_on: nothing", "based_on"},
        {head + "based_on: [a]", "based_on"},
        {head + "taps: [{delay_ns: 0, power_db: 0, fading: fast}]", "taps[0].fading"},
        {one_tap + "carrier_hz: \"1\\n2\\e[31m\"", "carrier_hz"},
        {one_tap + "\"a\\nb\": 1", "a?b"},
    };
    for (const auto& [text, key] : cases) {
        const std::string e = error_of(text);
        const bool is_known = key != "colour" && key != "speed_kmh.slow" && key != "a?b";
        EXPECT_TRUE(
            e.starts_with("d.yaml: " + key + (is_known ? " is " : ": unknown key; valid: ")))
            << text << " -> " << e;
        EXPECT_EQ(e.find_first_of("\n\r\x1b"), std::string::npos) << e;
        EXPECT_NE(e.find("valid"), std::string::npos) << e;
    }
    EXPECT_EQ(error_of("name: n\nsource: s\nname: m\n"), "d.yaml: name: given twice");
    EXPECT_EQ(error_of("name: \"a\\\nb\\\rc\"").find('\r'), std::string::npos);
}

}  // namespace
