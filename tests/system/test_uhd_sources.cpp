// SPDX-License-Identifier: GPL-3.0-or-later
// Clock and time sources of a software USRP, with and without what they need.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <tuple>
#include <uhd/exception.hpp>

#include "two_radios.h"

namespace {

using namespace wip::test;
using namespace std::chrono_literals;

bool locked(usrp& radio) { return radio.get_mboard_sensor("ref_locked").to_bool(); }

TEST(Sources, a_reference_is_locked_to_where_it_is_connected) {
    const auto with = [](const std::string& connected, const std::string& source) {
        const auto radio = make(connected + ",product=b210");
        radio->set_clock_source(source);
        return locked(*radio);
    };
    EXPECT_TRUE(with("reference=0", "internal"));
    EXPECT_FALSE(with("reference=0", "external"));
    EXPECT_FALSE(with("pps=1", "external"));
    EXPECT_TRUE(with("reference=1", "external"));
    EXPECT_TRUE(with("gpsdo=1", "gpsdo"));
    EXPECT_FALSE(locked(*make("clock_source=external")));
    EXPECT_FALSE(make("lo=0")->get_rx_sensor("lo_locked").to_bool());
}

// A medium of 100 seconds a second.
TEST(Sources, without_an_edge_of_the_second_none_is_seen_and_no_time_is_set_at_one) {
    const auto edge = [](const std::string& connected, const std::string& source) {
        const auto radio = usrp::make(
            uhd::device_addr_t("type=vusrp,clock=realtime,speed=100,time=5000," + connected));
        radio->set_time_source(source);
        radio->set_time_next_pps(uhd::time_spec_t(1e6));
        std::this_thread::sleep_for(50ms);
        const double last = radio->get_time_last_pps().get_real_secs();
        std::this_thread::sleep_for(50ms);
        EXPECT_EQ(radio->get_time_last_pps().get_real_secs() > last, last >= 1e6) << connected;
        EXPECT_GE(last, 5000);
        return last >= 1e6;
    };
    EXPECT_TRUE(edge("pps=0", "internal"));
    EXPECT_FALSE(edge("pps=0", "external"));
    EXPECT_FALSE(edge("reference=1", "external"));
    EXPECT_TRUE(edge("pps=1", "external"));
    EXPECT_TRUE(edge("gpsdo=1", "gpsdo"));
    EXPECT_FALSE(edge("product=x310", "gpsdo"));
}

// A GPSDO that is not there, and a source that no radio has; the messages are those of UHD 4.9 and
// MPM.
TEST(Sources, what_there_is_not_is_refused_in_the_words_of_the_device) {
    const auto says = [](const std::string& kind, auto choose) {
        const auto radio = make(kind);
        try {
            choose(*radio);
        } catch (const uhd::exception& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const auto clock = [&](const std::string& kind, const char* source) {
        return says(kind, [&](usrp& u) { u.set_clock_source(source); });
    };
    const auto time = [&](const std::string& kind, const char* source) {
        return says(kind, [&](usrp& u) { u.set_time_source(source); });
    };
    for (const auto& [kind, gpsdo, of_clock, of_time] :
         {std::tuple("product=b210", "gpsdo selected, but no gpsdo detected!",
                     "Invalid option chosen for: clock source",
                     "Invalid option chosen for: time source"),
          {"product=n210", "unhandled clock configuration reference source: gpsdo",
           "reference source: sun", "sun is not a valid time source.\n  possible values are: ["},
          {"product=x310", "", "set_clock_source: unknown source: sun",
           "update_time_source: unknown source: sun"},
          {"product=n310", "`gpsdo' is not a valid clock source", "`sun' is not a valid clock",
           "`sun' is not a valid time source, valid choices are: internal, external"},
          {"product=e320", "", "RPC call to `set_clock_source'", "RPC call to `set_time_source'"},
          {"product=x410", "Clock source gpsdo is not", "Clock source sun is not a valid selection",
           "Time source sun is not a valid selection"},
          {"gain_db=0", "update_clock_source: unknown source: gpsdo", "clock_source: unknown",
           "update_time_source: unknown source: sun"}}) {
        EXPECT_NE(clock(kind, "gpsdo").find(gpsdo), std::string::npos) << clock(kind, "gpsdo");
        EXPECT_NE(clock(kind, "sun").find(of_clock), std::string::npos) << clock(kind, "sun");
        EXPECT_NE(time(kind, "sun").find(of_time), std::string::npos) << time(kind, "sun");
    }
    EXPECT_EQ(time("product=b200", "gpsdo"),
              "LookupError: KeyError: update_time_source: unknown source: gpsdo");
    // An X310 and an E320 take one that is not there, and wait for it.
    for (const char* kind : {"product=x310", "product=e320"}) {
        const auto radio = make(kind);
        radio->set_clock_source("gpsdo");
        radio->set_time_source("gpsdo");
        EXPECT_FALSE(locked(*radio)) << kind;
        EXPECT_TRUE(locked(*make(std::string(kind) + ",gpsdo=1,clock_source=gpsdo"))) << kind;
    }
}

TEST(Sources, gps_says_the_same_time_at_the_same_edge) {
    const auto radio = make("gpsdo=1");
    EXPECT_TRUE(radio->get_mboard_sensor("gps_locked").to_bool());
    EXPECT_EQ(radio->get_mboard_sensor("gps_time").to_int(), 1767225600);
}

TEST(Sources, a_reference_takes_the_oscillators_error_away) {
    EXPECT_NEAR(heard_off(",ppm=10"), -18000, 10);
    EXPECT_NEAR(heard_off(",ppm=10,reference=0", "external"), -18000, 10);
    EXPECT_NEAR(heard_off(",ppm=10,reference=1", "external"), 0, 10);
    EXPECT_NEAR(heard_off(",ppm=10,gpsdo=1", "gpsdo"), 0, 10);
    EXPECT_NEAR(heard_off(",ppm=10,reference=1,clock_source=external", "internal"), -18000, 10);
}

TEST(Sources, the_reference_is_chosen_before_they_flow) {
    two_radios l("", ",reference=1", 7.68e6, 7.68e6);
    EXPECT_THROW(l.terminal->set_clock_source("external"), uhd::runtime_error);
    EXPECT_EQ(l.terminal->get_clock_source(0), "internal");
}

}  // namespace
