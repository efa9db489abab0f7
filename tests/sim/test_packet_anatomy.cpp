// SPDX-License-Identifier: GPL-3.0-or-later
// The packets' delays in whole cells: every record of long random runs against the oracle
// (packet_oracle.h), and every packet in exactly one record.
#include <gtest/gtest.h>

#include "cell_world.h"

namespace wip::sim {
namespace {

// Runs dry, and looks at what the records said.
void expect_every_packet_recorded(cell_world& w) {
    ASSERT_TRUE(w.drain());
    const auto& j = w.journal().count();
    EXPECT_EQ(j.open(), 0U);
    EXPECT_EQ(j.skipped, 0U);
    EXPECT_EQ(j.in, w.base_statistics_now().in.packets);
    EXPECT_EQ(j.recorded, j.in);
    EXPECT_NO_THROW(w.oracle().all_recorded(0));
}

TEST(PacketAnatomy, EveryPartOfEveryPacketAgreesWithTheOracle) {
    for (const bool in_order : {true, false})
        for (const bool packing : {true, false})
            for (const auto profile : {link_profile::radio, link_profile::wipemu})
                for (const bool saturate : {true, false}) {
                    world_config c;
                    c.link.profile = profile;
                    c.link.in_order = in_order;
                    c.link.packing = packing;
                    c.link.bins = 25;
                    c.traffic.saturate = saturate;
                    c.traffic.packets_per_slot = 1.5;
                    c.channel.prediction_nmse = 0.1;
                    c.follow_packets = true;
                    cell_world w(c);
                    w.run(1500);
                    expect_every_packet_recorded(w);
                    EXPECT_GT(w.base_statistics_now().frames_split, 20U);
                    EXPECT_GT(w.oracle().compared(), 1000U);
                    EXPECT_GT(w.oracle().waited(), 100U);
                    if (in_order)
                        EXPECT_GT(w.oracle().reordered(), 100U);
                    else
                        EXPECT_LT(w.oracle().reordered(), w.oracle().compared() / 10);
                    EXPECT_EQ(w.journal().count().unmatched, 0U);
                }
}

TEST(PacketAnatomy, LostGrantsFeedbackAndOutagesChangeNoSum) {
    for (const bool in_order : {true, false}) {
        world_config c;
        c.link.in_order = in_order;
        c.link.bins = 10;
        c.traffic.saturate = true;
        c.channel.grant_loss = 0.05;
        c.channel.feedback_loss = 0.1;
        c.channel.outage_start = 0.003;
        c.channel.outage_slots = 40;
        c.early_feedback = false;
        c.follow_packets = true;
        cell_world w(c);
        w.run(6000);
        expect_every_packet_recorded(w);
        EXPECT_GT(w.oracle().compared(), 500U);
    }
}

TEST(PacketAnatomy, FramesGivenUpEndTheirPacketsWithTheReason) {
    for (const bool in_order : {true, false})
        for (const bool packing : {true, false}) {
            world_config c;
            c.link.in_order = in_order;
            c.link.packing = packing;
            c.link.max_retransmissions = 1;
            c.link.modulation = 4;
            c.channel.frame_error = 0.1;
            c.channel.burst_start = 0.002;
            c.channel.burst_slots = 30;
            c.traffic.packets_per_slot = 0.4;
            c.follow_packets = true;
            cell_world w(c);
            w.run(6000);
            expect_every_packet_recorded(w);
            EXPECT_GT(w.base_statistics_now().frames_dropped, 50U);
            EXPECT_GT(w.oracle().dropped(), 50U);
            EXPECT_GT(w.oracle().compared(), 500U);
        }
}

TEST(PacketAnatomy, DamagedPacketsAreRecordedAsDelivered) {
    world_config c;
    c.link.deliver_corrupt = true;
    c.link.max_retransmissions = 0;
    c.link.modulation = 4;
    c.channel.frame_error = 0.05;
    c.traffic.packets_per_slot = 0.4;
    c.follow_packets = true;
    cell_world w(c);
    w.run(6000);
    expect_every_packet_recorded(w);
    EXPECT_GT(w.oracle().damaged(), 200U);
    EXPECT_GT(w.oracle().compared(), 100U);
}

// Longer than the SNs would last if the base station went on sending meanwhile.
TEST(PacketAnatomy, OutagesOfAnyLengthLosePacketsOnlyWithAReason) {
    for (const bool in_order : {true, false}) {
        world_config c;
        c.link.in_order = in_order;
        c.link.bins = 10;
        c.traffic.saturate = true;
        c.channel.frame_error = 0.3;
        c.channel.outage_start = 0.002;
        c.channel.outage_slots = 1400;
        c.follow_packets = true;
        cell_world w(c);
        w.run(12000);
        w.channel().outage_start = 0;
        expect_every_packet_recorded(w);
        EXPECT_EQ(w.oracle().lost(), 0U);
        EXPECT_GT(w.oracle().compared(), 500U);
    }
}

TEST(PacketAnatomy, HugePacketsAndHugeQueuesAreFollowed) {
    world_config c;
    c.link.queue_packets = 2000;
    c.link.modulation = 1;
    c.link.bins = 25;
    c.traffic.least_bytes = 20000;
    c.traffic.most_bytes = 65000;
    c.traffic.packets_per_slot = 0.03;
    c.channel.frame_error = 0.2;
    c.follow_packets = true;
    cell_world w(c);
    w.run(2500);
    ASSERT_TRUE(w.drain(200000));
    expect_every_packet_recorded(w);
    EXPECT_GT(w.oracle().compared(), 20U);
}

TEST(PacketAnatomy, FollowingThePacketsChangesNothingOnTheAir) {
    std::uint64_t digest[2];
    for (const bool follow : {false, true}) {
        world_config c;
        c.channel.prediction_nmse = 0.1;
        c.channel.feedback_loss = 0.05;
        c.traffic.saturate = true;
        c.follow_packets = follow;
        cell_world w(c);
        w.run(3000);
        digest[follow ? 1 : 0] = w.digest();
    }
    EXPECT_EQ(digest[0], digest[1]);
}

}  // namespace
}  // namespace wip::sim
