// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "packet/emulated_uplink.h"
#include "packets.h"

namespace wip {
namespace {

void expect_conserved(const uplink_statistics& s) {
    EXPECT_EQ(s.in.packets, s.delivered.packets + s.queued.packets + s.dropped_queue_full.packets +
                                s.dropped_lost.packets + s.dropped_not_ip.packets);
    EXPECT_EQ(s.in.bytes, s.delivered.bytes + s.queued.bytes + s.dropped_queue_full.bytes +
                              s.dropped_lost.bytes + s.dropped_not_ip.bytes);
}

TEST(EmulatedUplink, ThePacketArrivesTwoSlotsAfterTheOneThatSentItsLastBit) {
    // 480 kbit/s = 320 bits a slot: 40 bytes are one slot, 41 bytes two.
    for (const int delay : {0, 7}) {
        uplink_config c;
        c.kbps = 480;
        c.delay_slots = delay;
        emulated_uplink u(c);
        ASSERT_TRUE(u.on_sdu(test::ipv4(40), slot(100)));
        auto out = u.on_slot(slot(100));
        ASSERT_EQ(out.size(), 1U);
        EXPECT_EQ(out[0].arrival, slot(102 + delay));
        EXPECT_EQ(out[0].data, test::ipv4(40));
        ASSERT_TRUE(u.on_sdu(test::ipv4(41), slot(101)));
        EXPECT_TRUE(u.on_slot(slot(101)).empty());
        out = u.on_slot(slot(102));
        ASSERT_EQ(out.size(), 1U);
        EXPECT_EQ(out[0].arrival, slot(104 + delay));
    }
}

TEST(EmulatedUplink, CapacityIsExactOverAMinuteAtARateThatIsNoWholeNumberOfBitsASlot) {
    uplink_config c;
    c.kbps = 384.001;  // 256.000666... bits a slot
    emulated_uplink u(c);
    std::uint64_t bytes = 0;
    const std::int64_t slots = 60 * 1500;
    for (std::int64_t s = 0; s < slots; ++s) {
        while (u.statistics().queued.packets < 50) ASSERT_TRUE(u.on_sdu(test::ipv4(100), slot(s)));
        for (const auto& p : u.on_slot(slot(s))) bytes += p.data.size();
    }
    // 384001 bit/s for 60 s, in whole packets of 800 bits.
    EXPECT_EQ(bytes * 8, 384001ULL * 60 / 800 * 800);
    expect_conserved(u.statistics());
}

TEST(EmulatedUplink, AnIdleLineSavesNoCapacity) {
    uplink_config c;
    c.kbps = 480;
    emulated_uplink u(c);
    for (std::int64_t s = 0; s < 1000; ++s) EXPECT_TRUE(u.on_slot(slot(s)).empty());
    ASSERT_TRUE(u.on_sdu(test::ipv4(80), slot(1000)));
    EXPECT_TRUE(u.on_slot(slot(1000)).empty());
    EXPECT_EQ(u.on_slot(slot(1001)).size(), 1U);
}

TEST(EmulatedUplink, SlotsLeftOutAreMadeUpForButNotBeforeThePacketCame) {
    uplink_config c;
    c.kbps = 480;
    emulated_uplink u(c);
    u.on_slot(slot(0));
    ASSERT_TRUE(u.on_sdu(test::ipv4(80), slot(5)));
    const auto out = u.on_slot(slot(9));
    ASSERT_EQ(out.size(), 1U);
    EXPECT_EQ(out[0].arrival, slot(8));  // sent in slots 5 and 6
}

TEST(EmulatedUplink, TheQueueDropsItsTail) {
    uplink_config c;
    c.queue_packets = 3;
    c.kbps = 1;
    emulated_uplink u(c);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(u.on_sdu(test::ipv4(100), slot(0)), i < 3);
    EXPECT_EQ(u.statistics().dropped_queue_full.packets, 2U);
    EXPECT_EQ(u.statistics().dropped_queue_full.bytes, 200U);
    expect_conserved(u.statistics());
}

TEST(EmulatedUplink, ALineThatWouldHoldMoreThanTheMemoryAllowsIsRefused) {
    uplink_config c;
    c.kbps = 1e6;
    c.delay_slots = 768;  // 512 ms at 1 Gbit/s: 64 MB
    EXPECT_NO_THROW(c.check());
    c.delay_slots = 769;
    try {
        c.check();
        ADD_FAILURE() << "it is taken";
    } catch (const std::invalid_argument& e) {
        EXPECT_STREQ(
            e.what(),
            "uplink.delay_slots is 769; valid: 0..768 (64 MB on the way at uplink.kbps = 1000000)");
    }
    c.kbps = 51200;
    c.delay_slots = 15000;
    emulated_uplink u(c);
    c.kbps = 51204;
    EXPECT_THROW(u.reconfigure(c), std::invalid_argument);
    EXPECT_EQ(u.statistics().in.packets, 0U);
}

TEST(EmulatedUplink, BytesThatAreNoIpPacketAreCountedAndDropped) {
    emulated_uplink u({});
    EXPECT_FALSE(u.on_sdu({}, slot(0)));
    EXPECT_FALSE(u.on_sdu(std::vector<std::uint8_t>(40, 0), slot(0)));
    auto longer = test::ipv4(40);
    longer.push_back(0);
    EXPECT_FALSE(u.on_sdu(longer, slot(0)));
    EXPECT_EQ(u.statistics().dropped_not_ip.packets, 3U);
    expect_conserved(u.statistics());
}

TEST(EmulatedUplink, LossIsSeededAndCountedAndItsRateIsRight) {
    const auto run = [](std::uint64_t seed) {
        uplink_config c;
        c.loss = 0.1;
        c.kbps = 100000;
        c.seed = seed;
        emulated_uplink u(c);
        std::vector<std::int64_t> arrivals;
        for (std::int64_t s = 0; s < 20000; ++s) {
            u.on_sdu(test::ipv4(40), slot(s));
            for (const auto& p : u.on_slot(slot(s))) arrivals.push_back(p.arrival.value);
        }
        expect_conserved(u.statistics());
        // Five standard deviations of a binomial.
        EXPECT_NEAR(static_cast<double>(u.statistics().dropped_lost.packets), 2000, 212);
        return arrivals;
    };
    EXPECT_EQ(run(1), run(1));
    EXPECT_NE(run(1), run(2));
}

TEST(EmulatedUplink, FeedbackIsLostOnItsOwnDiceAndCountedApart) {
    uplink_config c;
    c.feedback_loss = 0.25;
    emulated_uplink u(c);
    std::uint64_t lost = 0;
    for (int i = 0; i < 10000; ++i) lost += u.feedback_lost();
    EXPECT_EQ(u.statistics().feedback.packets, 10000U);
    EXPECT_EQ(u.statistics().feedback.bytes, 300000U);
    EXPECT_EQ(u.statistics().feedback_lost.packets, lost);
    EXPECT_NEAR(static_cast<double>(lost), 2500, 217);
    EXPECT_EQ(u.statistics().in.packets, 0U);
}

TEST(EmulatedUplink, NoLossMeansNone) {
    emulated_uplink u({});
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(u.feedback_lost());
}

TEST(EmulatedUplink, TimeDoesNotRunBackwards) {
    emulated_uplink u({});
    u.on_slot(slot(5));
    EXPECT_THROW(u.on_slot(slot(5)), std::logic_error);
}

TEST(EmulatedUplink, BadArgumentsAreNamedWithTheirRange) {
    const auto refused = [](auto change, const std::string& start) {
        uplink_config c;
        change(c);
        try {
            emulated_uplink u(c);
        } catch (const std::invalid_argument& e) {
            EXPECT_EQ(std::string(e.what()).rfind(start, 0), 0U) << e.what();
            return;
        }
        ADD_FAILURE() << "accepted: " << start;
    };
    refused([](auto& c) { c.kbps = 0; }, "uplink.kbps is 0");
    refused([](auto& c) { c.kbps = std::nan(""); }, "uplink.kbps is nan");
    refused([](auto& c) { c.kbps = 2e6; }, "uplink.kbps is 2000000");
    refused([](auto& c) { c.delay_slots = -1; }, "uplink.delay_slots is -1");
    refused([](auto& c) { c.loss = 1.1; }, "uplink.loss is 1.1");
    refused([](auto& c) { c.feedback_loss = -0.1; }, "uplink.feedback_loss is -0.1");
    refused([](auto& c) { c.queue_packets = 0; }, "uplink.queue_packets is 0");
}

}  // namespace
}  // namespace wip
