// SPDX-License-Identifier: GPL-3.0-or-later
// A bearer without acknowledgements, in virtual time: unacknowledged and transparent mode. What is
// lost is a packet, with a reason; what arrives is as it was, in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "types/splitmix64.h"
#include "umts/bearer.h"
#include "umts_bearers.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;

// Packets down a bearer, each with octets of its own.
struct world {
    explicit world(const bearer_config& c) : it(c) {
        it.downlink().deliver_to([this](const link_packet& p) {
            due.push_back(p.due_ns);
            const std::vector<std::uint8_t> came(p.data.begin(), p.data.end());
            while (next < given.size() && given[next] != came) ++next;
            if (next < given.size())
                arrived.push_back(next++);
            else
                ++unknown;
            return 0;
        });
    }
    void give(int bytes) {
        std::vector<std::uint8_t> packet(static_cast<std::size_t>(bytes));
        for (auto& b : packet) b = static_cast<std::uint8_t>(random.next());
        given.push_back(packet);
        it.downlink().offer(packet, now);
    }
    void run_to(std::int64_t t) {
        while (it.next_wakeup() <= t) {
            it.advance(it.next_wakeup());
            const link_sums s = it.downlink().sums();
            ASSERT_EQ(s.missing().packets, 0U);
            ASSERT_EQ(s.missing().bytes, 0U);
            ASSERT_EQ(s.delivered.packets, arrived.size());
        }
        it.advance(t);
        now = t;
    }
    std::map<std::string, std::uint64_t> drops() const {
        std::map<std::string, std::uint64_t> n;
        for (const auto& d : it.downlink().sums().dropped) n[d.reason] = d.count.packets;
        return n;
    }
    bearer it;
    splitmix64 random{1};
    std::int64_t now = 0;
    std::vector<std::vector<std::uint8_t>> given;
    std::vector<std::size_t> arrived;
    std::vector<std::int64_t> due;
    std::size_t next = 0;
    int unknown = 0;
};

bearer_config of_mode(const char* profile, rlc_mode mode) {
    bearer_config c = of_profile(profile);
    c.mode = mode;
    return c;
}

// kbit/s of a queue that is never empty, from 1 s on.
double saturated(const bearer_config& c, int bytes) {
    world w(c);
    double bits = 0;
    for (int i = 0; i < 1100; ++i) {
        while (w.it.downlink().sums().queued.packets < 60) w.give(bytes);
        if (i == 100) bits = -8.0 * static_cast<double>(w.it.downlink().sums().delivered.bytes);
        w.run_to(w.now + 20 * ms);
    }
    EXPECT_EQ(w.unknown, 0);
    return (bits + 8.0 * static_cast<double>(w.it.downlink().sums().delivered.bytes)) / 20e3;
}

TEST(Rate, ConstantWithinOnePercentWithoutAcknowledgements) {
    for (const char* profile : {"umts-384", "umts-64", "lundsten-384"})
        EXPECT_NEAR(saturated(of_mode(profile, rlc_mode::unacknowledged), 1400) /
                        of_profile(profile).profile.kbps_down,
                    1, 0.01)
            << profile;
    // Transparent mode has the whole rate of an interval.
    EXPECT_NEAR(saturated(of_mode("umts-384", rlc_mode::transparent), 480) / 384, 1, 0.01);
    EXPECT_NEAR(saturated(of_mode("umts-64", rlc_mode::transparent), 80) / 64, 1, 0.01);
}

TEST(Unacknowledged, ALostBlockIsThePacketsThatHadAPartInIt) {
    bearer_config c = of_mode("umts-384", rlc_mode::unacknowledged);
    c.errors_down.rate = 0.1;
    world w(c);
    constexpr int packets = 4000;
    for (int i = 0; i < packets; ++i) {
        w.give(1400);  // three blocks
        w.run_to(w.now + 200 * ms);
    }
    EXPECT_EQ(w.unknown, 0);
    EXPECT_TRUE(w.it.downlink().idle());
    const double expected = 1 - std::pow(0.9, 3);
    EXPECT_NEAR(static_cast<double>(w.drops().at("rlc_lost")) / packets, expected,
                3.3 * std::sqrt(expected * (1 - expected) / packets));
    EXPECT_EQ(w.arrived.size() + w.drops().at("rlc_lost"), std::size_t{packets});
    EXPECT_EQ(w.drops().count("rlc_reset"), 0U);
}

TEST(Unacknowledged, AllThatEndedInALostBlockAreLostWithNothingBehindThem) {
    bearer_config c = of_mode("umts-384", rlc_mode::unacknowledged);
    c.errors_down.rate = 1;
    world w(c);
    for (int i = 0; i < 2; ++i) w.give(30);
    w.run_to(20'000 * ms);
    EXPECT_EQ(w.drops().at("rlc_lost"), 2U);
    EXPECT_TRUE(w.it.downlink().idle());
}

// Sizes that end before, with and behind a PDU, many in one and one in many.
TEST(Unacknowledged, WhateverIsLostTheSumsCloseAndWhatArrivesIsAsItWas) {
    for (const bool alone : {false, true})
        for (const int block : {40, 320}) {
            bearer_config c = of_mode("umts-384", rlc_mode::unacknowledged);
            c.profile.block_down = block;
            c.errors_down = {error_model::markov2, 0.2, 3};
            c.pdus_alone = alone;
            world w(c);
            for (int i = 0; i < 3000; ++i) {
                const auto draw = w.random.next() % 10;
                w.give(draw < 3   ? 1 + static_cast<int>(w.random.next() % 60)
                       : draw < 6 ? block * static_cast<int>(1 + draw % 3) - 3 +
                                        static_cast<int>(w.random.next() % 6)
                                  : 1 + static_cast<int>(w.random.next() % 1500));
                w.run_to(w.now + static_cast<std::int64_t>(w.random.next() % 30) * ms);
                ASSERT_FALSE(testing::Test::HasFatalFailure());
            }
            w.run_to(w.now + 20'000 * ms);
            EXPECT_TRUE(w.it.downlink().idle());
            EXPECT_EQ(w.unknown, 0);
            EXPECT_GT(w.drops().at("rlc_lost"), 300U);
            EXPECT_GT(w.arrived.size(), 500U);
            EXPECT_TRUE(std::ranges::is_sorted(w.arrived));
        }
}

TEST(Unacknowledged, AfterMoreThanItsNumbersInARowNothingIsPutTogetherWrongly) {
    // 12 PDUs in an interval: with 32 intervals 384 of them are lost, three times the numbers.
    bearer_config c = of_mode("umts-384", rlc_mode::unacknowledged);
    c.outages = {{995 * ms, 320 * ms}};
    world w(c);
    while (w.now < 3000 * ms) {
        while (w.it.downlink().sums().queued.packets < 60)
            w.give(200 + static_cast<int>(w.random.next() % 1300));
        w.run_to(w.now + 10 * ms);
    }
    w.run_to(w.now + 10'000 * ms);
    EXPECT_EQ(w.it.counts(bearer::way::down).pdus_lost, 384U);
    EXPECT_EQ(w.unknown, 0);
    EXPECT_TRUE(w.it.downlink().idle());
    EXPECT_GT(w.drops().at("rlc_lost"), 10U);
}

TEST(Discard, ByTimerIsOfPacketsOfWhichNothingHasBeenSent) {
    for (const auto mode : {rlc_mode::unacknowledged, rlc_mode::transparent}) {
        bearer_config c = of_mode("umts-384", mode);
        c.rlc.discard = discard_mode::timer;
        c.rlc.discard_ns = 100 * ms;
        c.profile.one_way_ms = c.profile.radio_ms + 15;  // no core network before the queue
        world w(c);
        for (int i = 0; i < 50; ++i) w.give(480);
        w.run_to(1000 * ms);
        EXPECT_TRUE(w.it.downlink().idle());
        // A packet an interval: those that begin at 0, 10, ... 90 ms. Unacknowledged its header
        // has no room beside it: the tenth of the packets has begun within 100 ms as well.
        EXPECT_EQ(w.arrived.size(), 10U) << static_cast<int>(mode);
        EXPECT_EQ(w.drops().at("rlc_given_up"), 40U);
        EXPECT_EQ(w.it.sender(bearer::way::down).counts().discarded, 40U);
    }
}

TEST(Transparent, APacketHasAnIntervalToItself) {
    world w(of_mode("umts-384", rlc_mode::transparent));
    std::map<std::int64_t, std::vector<std::size_t>> pdus;
    w.it.watch([&](bearer::way, std::span<const std::uint8_t> pdu, std::int64_t start, bool) {
        pdus[start].push_back(pdu.size());
    });
    for (const int bytes : {100, 480, 1}) w.give(bytes);
    w.give(481);  // no interval has room for this packet
    w.give(40);
    w.run_to(1000 * ms);
    EXPECT_EQ(w.arrived, (std::vector<std::size_t>{0, 1, 2, 4}));
    EXPECT_EQ(w.unknown, 0);
    EXPECT_EQ(w.drops(),
              (std::map<std::string, std::uint64_t>{
                  {"queue_full", 0}, {"rlc_given_up", 0}, {"rlc_lost", 0}, {"rlc_too_long", 1}}));
    ASSERT_EQ(pdus.size(), 4U);
    EXPECT_EQ(pdus.begin()->second, (std::vector<std::size_t>{40, 40, 20}));
    for (std::size_t i = 1; i < w.due.size(); ++i) EXPECT_EQ(w.due[i] - w.due[i - 1], 10 * ms);
}

TEST(Transparent, WhereIntervalsDifferItWaitsForOneWithRoom) {
    // 100 kbit/s: 3 PDUs of 40 octets, and now and then 4.
    bearer_config c = of_mode("umts-384", rlc_mode::transparent);
    c.profile.kbps_down = 100;
    world w(c);
    for (int i = 0; i < 5; ++i) w.give(160);
    w.give(161);
    w.run_to(1000 * ms);
    EXPECT_EQ(w.arrived.size(), 5U);
    EXPECT_EQ(w.drops().at("rlc_too_long"), 1U);
    EXPECT_GE(w.due[4] - w.due[0], 4 * 70 * ms);
}

TEST(Transparent, APacketOfWhichAPduIsLostIsLost) {
    for (const bool alone : {false, true}) {
        bearer_config c = of_mode("umts-384", rlc_mode::transparent);
        c.errors_down.rate = 0.05;
        c.pdus_alone = alone;
        world w(c);
        constexpr int packets = 4000;
        for (int i = 0; i < packets; ++i) {
            w.give(115);  // three PDUs
            w.run_to(w.now + 10 * ms);
        }
        w.run_to(w.now + 1000 * ms);
        const double expected = alone ? 1 - std::pow(0.95, 3) : 0.05;
        EXPECT_EQ(w.unknown, 0);
        EXPECT_NEAR(static_cast<double>(w.drops().at("rlc_lost")) / packets, expected,
                    3.3 * std::sqrt(expected * (1 - expected) / packets));
        EXPECT_EQ(w.arrived.size() + w.drops().at("rlc_lost"), std::size_t{packets});
    }
}

TEST(Modes, WhatOnlyAcknowledgementsHaveStays0) {
    for (const auto mode : {rlc_mode::unacknowledged, rlc_mode::transparent}) {
        world w(of_mode("umts-384", mode));
        for (int i = 0; i < 20; ++i) w.give(400);
        w.run_to(50 * ms);
        const rlc_counts c = w.it.sender(bearer::way::down).counts();
        EXPECT_GT(c.pdus, 10U);
        EXPECT_GT(c.held, 5U);
        EXPECT_EQ(c.retransmissions + c.polls + c.status_pdus + c.piggybacked + c.resets, 0U);
        EXPECT_EQ(c.window_used, 0);
        w.run_to(5000 * ms);
        EXPECT_EQ(w.it.sender(bearer::way::up).counts().pdus, 0U);
    }
}

TEST(Modes, TheJournalTellsEveryPacketOnce) {
    for (const auto mode : {rlc_mode::unacknowledged, rlc_mode::transparent}) {
        bearer_config c = of_mode("umts-384", mode);
        c.errors_down.rate = 0.1;
        world w(c);
        std::map<std::uint64_t, std::string> reported;
        sdu_journal journal(
            [&](const packet_record& r) {
                EXPECT_TRUE(reported.emplace(r.number, r.dropped).second);
                EXPECT_EQ(r.parts.sum(), r.left_ns - r.arrived_ns);
                EXPECT_LT(r.last_pdu, um_sn_space);
                EXPECT_EQ(r.first_pdu < 0, mode == rlc_mode::transparent);
            },
            numbers_of(mode));
        w.it.follow(bearer::way::down, &journal);
        for (int i = 0; i < 300; ++i) {
            w.give(450);
            w.run_to(w.now + 20 * ms);
        }
        w.run_to(w.now + 5000 * ms);
        ASSERT_EQ(reported.size(), 300U);
        for (std::size_t i = 0; i < 300; ++i)
            EXPECT_EQ(reported[i], std::ranges::binary_search(w.arrived, i) ? "" : "rlc_lost") << i;
    }
}

TEST(Modes, TransparentModeHasNoOtherChannel) {
    bearer_config c = of_mode("umts-384", rlc_mode::transparent);
    c.control.always_dch = false;
    EXPECT_THROW(bearer{c}, std::invalid_argument);
}

}  // namespace
}  // namespace wip::umts
