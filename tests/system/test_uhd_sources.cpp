// SPDX-License-Identifier: GPL-3.0-or-later
// Clock and time sources of a software USRP, with and without what they need.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
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
