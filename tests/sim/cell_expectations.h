// SPDX-License-Identifier: GPL-3.0-or-later
// The state that a cell world must have when its link has been drained, and the common parts of
// random worlds.
#pragma once

#include <gtest/gtest.h>

#include "cell_world.h"

namespace wip::sim {

// If no frames are given up, every packet that was accepted arrives, whole, and only once.
inline void expect_all_delivered(cell_world& w) {
    ASSERT_TRUE(w.drain());
    const auto& b = w.base_statistics_now();
    const auto& t = w.terminal_statistics_now();
    EXPECT_EQ(b.queued.packets, 0U);
    EXPECT_EQ(b.dropped_retransmissions.packets, 0U);
    EXPECT_EQ(b.frames_dropped, 0U);
    EXPECT_EQ(b.sent.packets, t.delivered.packets);
    EXPECT_EQ(b.sent.bytes, t.delivered.bytes);
    EXPECT_EQ(w.intact(), b.sent.packets);
    EXPECT_EQ(t.dropped_lost_frame.packets, 0U);
    EXPECT_EQ(t.resynchronised, 0U);
    EXPECT_EQ(w.oracle().undelivered(), -1);
    EXPECT_GT(b.sent.packets, 0U);
}

// If frames are given up, nothing is left in the window, and packets that the base station counts
// as sent have arrived whole; a frame that arrived in spite of lost ACKs may have brought a few
// more.
inline void expect_all_sent_delivered(cell_world& w) {
    ASSERT_TRUE(w.drain());
    const auto& b = w.base_statistics_now();
    const auto& t = w.terminal_statistics_now();
    EXPECT_EQ(b.queued.packets, 0U);
    EXPECT_GE(w.intact(), b.sent.packets);
    EXPECT_LE(t.delivered.packets, b.sent.packets + b.dropped_retransmissions.packets);
    EXPECT_LE(t.delivered.packets + t.dropped_lost_frame.packets,
              b.sent.packets + b.dropped_retransmissions.packets);
    EXPECT_EQ(w.oracle().undelivered(), -1);
}

// Checks a world that was drawn: `number` says which one failed.
inline void expect_sent_arrived(cell_world& w, int number) {
    ASSERT_TRUE(w.drain(60000)) << "world " << number;
    const auto& b = w.base_statistics_now();
    if (b.frames_dropped == 0)
        EXPECT_EQ(b.sent.packets, w.intact()) << "world " << number;
    else
        EXPECT_GE(w.intact(), b.sent.packets) << "world " << number;
}

// Draws the bins and what is in them, which may change in a running cell at any time.
inline void draw_sending(link_config& link, random_source& dice) {
    link.bins = 1 + dice.up_to(25);
    link.allocation = dice.hits(0.5) ? allocation_kind::best : allocation_kind::fixed;
    link.modulation = dice.hits(0.6) ? 0 : 1 + dice.up_to(8);
    link.switch_table = static_cast<switch_table_kind>(dice.up_to(3));
}

// Frame formats, and what gets lost.
inline world_config draw_world(random_source& dice) {
    world_config c;
    c.link.profile = dice.hits(0.5) ? link_profile::radio : link_profile::wipemu;
    c.link.packing = dice.hits(0.7);
    c.link.in_order = dice.hits(0.5);
    c.channel.frame_error = dice.hits(0.5) ? -1 : 0.5 * dice.uniform();
    c.channel.grant_loss = dice.hits(0.5) ? 0 : 0.1 * dice.uniform();
    c.channel.feedback_loss = dice.hits(0.5) ? 0 : 0.2 * dice.uniform();
    c.early_feedback = dice.hits(0.5);
    c.seed = dice.next();
    return c;
}

}  // namespace wip::sim
