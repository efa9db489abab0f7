// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "profiles/channel_definition.h"

using namespace wip::profiles;

namespace {

std::string error_of(const std::string& text) {
    try {
        parse(text, "p.yaml");
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "accepted";
}

}  // namespace

TEST(Profiles, every_built_in_profile_loads_and_has_power_one) {
    EXPECT_EQ(names().size(), 20u);
    for (const std::string& name : names()) {
        const auto profile = load(name);
        EXPECT_EQ(profile.name, name);
        double sum = 0;
        for (const double p : profile.powers()) sum += p;
        EXPECT_NEAR(sum, 1, 1e-12) << name;
    }
}

TEST(Profiles, have_the_delay_spreads_that_their_sources_state) {
    // TS 36.104 table B.2-1 (rounded to ns): EPA 45, EVA 357, ETU 991.
    EXPECT_NEAR(load("epa").rms_delay_spread_s() * 1e9, 45, 2.5);
    EXPECT_NEAR(load("eva").rms_delay_spread_s() * 1e9, 357, 1);
    EXPECT_NEAR(load("etu").rms_delay_spread_s() * 1e9, 991, 1);
    // TR 38.901 table 7.7.2: normalised to a delay spread of 1.
    for (const char* name : {"tdl-a", "tdl-b", "tdl-c", "tdl-d", "tdl-e"})
        EXPECT_NEAR(load(name, 100).rms_delay_spread_s() * 1e9, 100, 1.5) << name;
    // TR 25.943 typical urban has 500 ns; this rounding of it comes close.
    EXPECT_NEAR(load("jakes").rms_delay_spread_s() * 1e9, 500, 5);
}

TEST(Profiles, jakes_has_ten_taps_in_steps_of_200_ns_with_the_third_and_sixth_off) {
    const auto profile = load("jakes");
    ASSERT_EQ(profile.taps.size(), 10u);
    std::vector<int> places;
    for (const auto& t : profile.taps)
        places.push_back(static_cast<int>(std::lround(t.delay_s / 200e-9)));
    EXPECT_EQ(places, (std::vector<int>{0, 1, 3, 4, 6, 7, 8, 9, 10, 11}));
}

TEST(Profiles, a_file_is_read_as_the_built_in_ones) {
    const std::string name = testing::TempDir() + "profile_of_a_test.yaml";
    std::ofstream(name) << "name: two\nsource: this test\ntaps:\n  - {delay_ns: 0, power_db: 0}\n"
                           "  - {delay_ns: 1000, power_db: -3, fading: rice, k_db: 6}\n";
    const auto profile = load(name);
    ASSERT_EQ(profile.taps.size(), 2u);
    EXPECT_EQ(profile.taps[1].fading, wip::sample_model::tap_fading::rice);
    EXPECT_EQ(profile.taps[1].k_db, 6);
    std::remove(name.c_str());
}

TEST(Profiles, refuse_what_is_wrong_with_one_line) {
    EXPECT_THROW(load("typical"), std::invalid_argument);
    EXPECT_THROW(load("/nowhere/x.yaml"), std::invalid_argument);
    EXPECT_THROW(load("/dev/zero"), std::invalid_argument);
    EXPECT_THROW(load("jakes", 100), std::invalid_argument);  // its delays are fixed
    EXPECT_THROW(load("tdl-a", 12501), std::invalid_argument);
    const std::string head = "name: n\nsource: s\n";
    for (const std::string& text :
         {std::string("- 1"), std::string("name: n"), head, head + "taps: 3", head + "taps: []",
          head + "taps: [{delay_ns: 0}]", head + "taps: [{delay_ns: x, power_db: 0}]",
          head + "taps: [{delay: 0, power_db: 0}]", head + "taps: [{delay_ns: -1, power_db: 0}]",
          head + "taps: [{delay_ns: 20000, power_db: 0}]",
          head + "taps: [{delay_ns: 0, power_db: 0, fading: slow}]",
          head + "taps: [{delay_ns: 0, power_db: 0, fading: rice}]",
          head + "taps: [{delay_ns: 0, power_db: 0, k_db: 3}]",
          head + "taps: [{delay_ns: 0, power_db: 0, gain: 3}]",
          head + "delay_spread_ns: 0\ntaps: [{delay: 0, power_db: 0}]",
          head + "delay_spread_ns: 10\ntaps: [{delay_ns: 0, power_db: 0}]", std::string("[")}) {
        const std::string e = error_of(text);
        EXPECT_EQ(e.rfind("p.yaml:", 0), 0u) << text << " -> " << e;
        EXPECT_EQ(e.find('\n'), std::string::npos) << e;
    }
}
