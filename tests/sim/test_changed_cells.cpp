// SPDX-License-Identifier: GPL-3.0-or-later
// Cells whose settings change while they run; cell_world.h says what is checked after every slot.
#include <gtest/gtest.h>

#include "cell_expectations.h"
#include "cell_world.h"

namespace wip::sim {
namespace {

TEST(ChangedCell, ReconfigurationInARunningCellLosesNothing) {
    world_config c;
    c.link.bins = 25;
    c.link.modulation = 8;
    c.channel.frame_error = 0.2;
    c.traffic.packets_per_slot = 0.2;
    cell_world w(c);
    w.run(300);
    for (int k : {1, 8, 3, 0, 5, 2, 7, 1}) {
        c.link.modulation = k;
        w.base().reconfigure(c.link);
        w.run(300);
    }
    expect_all_delivered(w);
    EXPECT_GT(w.base_statistics_now().frames_split, 0U);
}

TEST(ChangedCell, TheLoopsDelayChangesInARunningCellAndLosesNothing) {
    for (const bool early : {true, false})
        for (const bool in_order : {true, false}) {
            random_source dice(early ? 11 : 12);
            world_config c;
            c.link.bins = 25;
            c.link.in_order = in_order;
            c.channel.grant_loss = 0.02;
            c.channel.feedback_loss = 0.05;
            c.channel.prediction_nmse = 0.1;
            c.traffic.packets_per_slot = 0.3;
            c.early_feedback = early;
            cell_world w(c);
            w.run(100);
            // The ends of the range in every order, then at random, also slot by slot.
            for (const int delay : {48, 3, 48, 4, 47, 3, 3, 48}) {
                c.link.retransmission_delay_slots = delay;
                w.reconfigure(c.link);
                w.run(1 + dice.up_to(60));
            }
            for (int i = 0; i < 300; ++i) {
                c.link.retransmission_delay_slots = 3 + dice.up_to(46);
                w.reconfigure(c.link);
                w.run(1 + dice.up_to(i % 3 == 0 ? 2 : 20));
            }
            expect_all_delivered(w);
            EXPECT_GT(w.base_statistics_now().frames_failed, 500U);
            EXPECT_EQ(w.base_statistics_now().feedback_rejected, 0U);
        }
}

TEST(ChangedCell, AfterAChangeOfTheDelayARetransmissionTakesTheNewOne) {
    for (const auto& [before, after] : {std::pair{3, 24}, std::pair{24, 3}}) {
        world_config c;
        c.channel.fading = false;
        c.channel.frame_error = 0;
        c.link.modulation = 1;
        c.link.retransmission_delay_slots = before;
        c.traffic.packets_per_slot = 0;
        cell_world w(c);
        w.run(60);
        c.link.retransmission_delay_slots = after;
        w.reconfigure(c.link);
        // One packet whose first copies all fail.
        w.channel().frame_error = 1;
        w.traffic().packets_per_slot = 1;
        for (int i = 0; i < 100 && w.base_statistics_now().frames_sent == 0; ++i) w.run(1);
        ASSERT_GT(w.base_statistics_now().frames_sent, 0U);
        w.traffic().packets_per_slot = 0;
        const auto sent_in = w.now() - 1;
        for (int i = 0; i < 100 && w.base_statistics_now().frames_failed == 0; ++i) w.run(1, false);
        EXPECT_EQ(w.now() - 1 - sent_in, after);
        w.channel().frame_error = 0;
        expect_all_delivered(w);
    }
}

// Random changes of everything that can change, at random times, in random worlds.
TEST(ChangedCell, AnythingMayBeReconfiguredAtAnyTime) {
    random_source dice(505);
    for (int i = 0; i < 60; ++i) {
        world_config c = draw_world(dice);
        c.traffic.packets_per_slot = 0.3 * dice.uniform();
        cell_world w(c);
        for (int n = 0; n < 40; ++n) {
            draw_sending(c.link, dice);
            c.link.retransmission_delay_slots = 3 + dice.up_to(46);
            w.reconfigure(c.link);
            w.run(1 + dice.up_to(40));
        }
        expect_sent_arrived(w, i);
    }
}

}  // namespace
}  // namespace wip::sim
