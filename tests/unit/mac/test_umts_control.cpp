// SPDX-License-Identifier: GPL-3.0-or-later
// The controls of a bearer, in virtual time: states of the RRC, the granted window, triggers that
// it cannot do without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "umts/bearer.h"
#include "umts_bearers.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;

TEST(Control, StatesFollowTheTraffic) {
    bearer_config c = of_profile("umts-384");
    c.control.always_dch = false;
    bearer b(c);
    std::int64_t arrived = -1;
    b.downlink().deliver_to([&](const link_packet& p) {
        arrived = p.due_ns;
        return 0;
    });
    EXPECT_EQ(b.control_state(), rrc_state::idle);
    b.downlink().offer(packet(1500), 0);
    run_to(b, 3000 * ms);
    EXPECT_EQ(b.control_state(), rrc_state::dch);
    // Set-up of 1 s, four blocks, radio delay.
    EXPECT_GE(arrived, 1100 * ms);
    EXPECT_LE(arrived, 1120 * ms);
    // Ten seconds of silence: FACH, where a small packet stays.
    run_to(b, 12'000 * ms);
    arrived = -1;
    b.downlink().offer(packet(100), 12'000 * ms);
    run_to(b, 13'000 * ms);
    EXPECT_EQ(b.control_state(), rrc_state::fach);
    // 3 PDUs at 16 kbit/s.
    EXPECT_GE(arrived, 12'110 * ms);
    EXPECT_LE(arrived, 12'180 * ms);
    b.downlink().offer(packet(1000), 13'000 * ms);
    run_to(b, 14'000 * ms);
    EXPECT_EQ(b.control_state(), rrc_state::dch);
}

TEST(Control, SilenceIsSeenWithoutTraffic) {
    bearer_config c = of_profile("umts-384");
    c.control.always_dch = false;
    bearer b(c);
    b.downlink().offer(packet(1500), 0);
    run_to(b, 3000 * ms);
    ASSERT_EQ(b.control_state(), rrc_state::dch);
    ASSERT_EQ(b.next_wakeup(), packet_link::never);
    std::int64_t entered[4] = {};
    for (std::int64_t t = 3000 * ms; t < 700'000 * ms; t += 10 * ms) {
        b.advance(t);
        auto& since = entered[static_cast<std::size_t>(b.control_state())];
        if (since == 0) since = t;
    }
    const auto at = [&](rrc_state s) { return entered[static_cast<std::size_t>(s)]; };
    // 5 s of silence, 10 s more, 600 s more.
    EXPECT_GE(at(rrc_state::fach), 6000 * ms);
    EXPECT_LE(at(rrc_state::fach), 7000 * ms);
    EXPECT_NEAR(static_cast<double>(at(rrc_state::pch) - at(rrc_state::fach)), 10e9, 10e6);
    EXPECT_NEAR(static_cast<double>(at(rrc_state::idle) - at(rrc_state::pch)), 600e9, 10e6);
}

TEST(Control, WhoIsInPchIsPaged) {
    bearer_config c = of_profile("umts-384");
    c.control.always_dch = false;
    c.control.dch_inactive_ns = c.control.fach_inactive_ns = 1000 * ms;
    c.control.page_ns = 300 * ms;
    bearer b(c);
    std::int64_t arrived = -1;
    b.downlink().deliver_to([&](const link_packet& p) {
        arrived = p.due_ns;
        return 0;
    });
    b.downlink().offer(packet(1500), 0);
    run_to(b, 9000 * ms);
    ASSERT_EQ(b.control_state(), rrc_state::pch);
    arrived = -1;
    b.downlink().offer(packet(100), 9000 * ms);
    run_to(b, 9290 * ms);
    EXPECT_EQ(b.control_state(), rrc_state::pch);
    run_to(b, 9700 * ms);
    EXPECT_EQ(b.control_state(), rrc_state::fach);
    // The page, 3 PDUs at 16 kbit/s, radio delay.
    EXPECT_GE(arrived, 9300 * ms + 110 * ms);
    EXPECT_LE(arrived, 9300 * ms + 180 * ms);
}

TEST(Control, ThresholdAndRateOfFachAreTheirs) {
    const auto state_and_time = [](int threshold, double kbps) {
        bearer_config c = of_profile("umts-384");
        c.control.always_dch = false;
        c.control.threshold_bytes = threshold;
        c.control.fach_kbps = kbps;
        bearer b(c);
        std::int64_t arrived = -1;
        b.downlink().deliver_to([&](const link_packet& p) {
            arrived = p.due_ns;
            return 0;
        });
        b.downlink().offer(packet(400), 0);
        run_to(b, 3000 * ms);
        return std::pair(b.control_state(), arrived);
    };
    EXPECT_EQ(state_and_time(399, 16).first, rrc_state::dch);
    EXPECT_EQ(state_and_time(400, 16).first, rrc_state::fach);
    // 11 PDUs of 40 octets, LI and all: one more each 20 ms, or each 40.
    const auto fast = state_and_time(400, 16).second, slow = state_and_time(400, 8).second;
    EXPECT_NEAR(static_cast<double>(slow - fast), 10 * 20e6, 20e6);
}

// Echo requests of the terminal, of these bytes beside 28 of headers, one every two seconds. The
// host answers 20 ms after the core network has them, with which those over DCH last as long as in
// Teyeb (2006). Returns the round trips in ms, and whether the answer came over a DCH.
struct echo {
    double ms;
    bool dch;
};
std::vector<echo> pings(const bearer_config& c, const std::vector<int>& bytes) {
    bearer b(c);
    std::vector<echo> found;
    std::int64_t there = -1, answered = -1;
    b.uplink().deliver_to([&](const link_packet& p) {
        there = p.due_ns;
        return 0;
    });
    b.downlink().deliver_to([&](const link_packet& p) {
        answered = p.due_ns;
        return 0;
    });
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const std::int64_t asked = static_cast<std::int64_t>(i) * 2000 * ms;
        there = answered = -1;
        b.uplink().offer(packet(28 + bytes[i]), asked);
        for (std::int64_t t = asked; there < 0; t += ms) run_to(b, t);
        const std::int64_t answer = there + 20 * ms;
        run_to(b, answer);
        b.downlink().offer(packet(28 + bytes[i]), answer);
        run_to(b, asked + 1990 * ms);
        found.push_back(
            {static_cast<double>(answered - asked) * 1e-6, b.control_state() == rrc_state::dch});
    }
    return found;
}

// Table 2.1 of Teyeb: 32 bytes over FACH take 270 to 350 ms and no longer at first, 128 over DCH
// 190 to 221 ms and 0.9 s more at first.
TEST(Ping, TheFirstOneOverDchWaitsForItsSetUp) {
    bearer_config c = of_profile("umts-384");
    c.control.always_dch = false;
    c.control.set_up_ns = 900 * ms;
    c.control.threshold_bytes = 100;
    const auto dch = pings(c, std::vector<int>(8, 128));
    for (const echo& e : dch) EXPECT_TRUE(e.dch);
    EXPECT_NEAR(dch[0].ms - dch[1].ms, 900, 20);
    for (std::size_t i = 1; i < dch.size(); ++i) {
        EXPECT_GE(dch[i].ms, 190);
        EXPECT_LE(dch[i].ms, 221);
    }
    c.control.fach_kbps = 7;  // Teyeb (2006) gives no rate; 6 kbit/s makes 360 ms, 8 kbit/s 260 ms
    const auto fach = pings(c, std::vector<int>(8, 32));
    for (std::size_t i = 1; i < fach.size(); ++i) {
        EXPECT_FALSE(fach[i].dch);
        EXPECT_GE(fach[i].ms, 270);
        EXPECT_LE(fach[i].ms, 350);
    }
}

// Figure 2.6 of Teyeb: while the packets grow, the round trip falls where the DCH begins, at some
// 250 bytes.
TEST(Ping, GrowingPacketsLeaveFachAtTheThreshold) {
    bearer_config c = of_profile("umts-384");
    c.control.always_dch = false;
    c.control.threshold_bytes = 250;
    std::vector<int> bytes;
    for (int n = 1; n <= 400; n += 3) bytes.push_back(n);
    const auto found = pings(c, bytes);
    std::size_t step = 0;
    while (step < found.size() && !found[step].dch) ++step;
    ASSERT_LT(step + 1, found.size());
    EXPECT_NEAR(bytes[step], 250, 30);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].dch, i >= step) << bytes[i];
    // The one with which it begins still goes over FACH; the next one is quick.
    EXPECT_GE(found[step].ms, found[step - 1].ms);
    EXPECT_LT(found[step + 1].ms, found[step - 1].ms - 100);
    EXPECT_GT(found[step - 1].ms, found[1].ms + 100);
}

TEST(Window, WhatTheReceiverGrantsIsKeptUnderLosses) {
    bearer_config c = of_profile("umts-384");
    c.errors_up.rate = 0.3;  // statuses, and what they grant
    bearer b(c);
    const auto most_used = [&](std::int64_t from, std::int64_t until) {
        std::int64_t most = 0;
        for (std::int64_t t = from; t < until; t += 10 * ms) {
            while (b.downlink().sums().queued.packets < 60) b.downlink().offer(packet(1000), t);
            run_to(b, t);
            if (t > from + 2000 * ms)
                most = std::max(most, b.sender(bearer::way::down).counts().window_used);
        }
        return most;
    };
    EXPECT_GT(most_used(0, 6000 * ms), 100);
    b.grant_window(20);
    EXPECT_EQ(most_used(6000 * ms, 16'000 * ms), 20);
    b.grant_window(0);
    EXPECT_GT(most_used(16'000 * ms, 26'000 * ms), 100);
    c.granted_window = 5000;
    EXPECT_THROW(bearer{c}, std::invalid_argument);
}

TEST(Triggers, OneThatEndsABurstIsNeededAndStatusesLeaveRoom) {
    bearer_config c = of_profile("umts-384");
    c.rlc.poll_last = false;
    c.rlc.poll_pdus = 4;
    EXPECT_THROW(bearer{c}, std::invalid_argument);
    c.rlc.poll_period_ns = 200 * ms;
    EXPECT_NO_THROW(bearer{c});
    // 20 ms of two PDUs, and 80 of an uplink of 8 kbit/s.
    c.rlc.status_period_ns = 20 * ms;
    EXPECT_NO_THROW(bearer{c});
    c.profile.kbps_up = 8;
    EXPECT_THROW(bearer{c}, std::invalid_argument);
    c.rlc.status_period_ns = 80 * ms;
    EXPECT_NO_THROW(bearer{c});
    c.rlc.poll_period_ns = 0;
    c.mode = rlc_mode::unacknowledged;
    EXPECT_NO_THROW(bearer{c});
}

// If the last poll, or the status that it asked for, is lost, the transfer would stall.
TEST(Triggers, APollTimerIsNeededWhereNothingElseAsksAgain) {
    bearer_config c = of_profile("umts-384");
    c.rlc.poll_timer_ns = 0;
    for (const auto discard :
         {discard_mode::never, discard_mode::after_max_dat, discard_mode::reset}) {
        c.rlc.discard = discard;
        EXPECT_THROW(bearer{c}, std::invalid_argument);
    }
    c.mode = rlc_mode::unacknowledged;
    EXPECT_NO_THROW(bearer{c});
    c.mode = rlc_mode::acknowledged;
    c.rlc.poll_period_ns = 200 * ms;
    EXPECT_NO_THROW(bearer{c});
    c.rlc.poll_period_ns = 0;
    c.rlc.discard = discard_mode::timer;
    c.rlc.discard_ns = 2000 * ms;
    EXPECT_NO_THROW(bearer{c});
}

}  // namespace
}  // namespace wip::umts
