// SPDX-License-Identifier: GPL-3.0-or-later
// What is expected of a cell world when its link has been drained.
#pragma once

#include <gtest/gtest.h>

#include "cell_world.h"

namespace wip::sim {

// Without frames given up, every packet that was accepted arrives, whole, and only once.
inline void expect_all_delivered(cell_world& w) {
    ASSERT_TRUE(w.drain());
    const auto& b = w.base_statistics_now();
    const auto& t = w.terminal_statistics_now();
    EXPECT_EQ(b.queued.packets, 0U);
    EXPECT_EQ(b.dropped_retransmissions.packets, 0U);
    EXPECT_EQ(b.frames_given_up, 0U);
    EXPECT_EQ(b.sent.packets, t.delivered.packets);
    EXPECT_EQ(b.sent.bytes, t.delivered.bytes);
    EXPECT_EQ(w.intact(), b.sent.packets);
    EXPECT_EQ(t.dropped_lost_frame.packets, 0U);
    EXPECT_EQ(t.resynchronised, 0U);
    EXPECT_EQ(w.oracle().undelivered(), -1);
    EXPECT_GT(b.sent.packets, 0U);
}

// With frames given up: nothing is left in the window, and what the base station calls sent has
// arrived whole; a frame that arrived in spite of lost ACKs may have brought a few more.
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

}  // namespace wip::sim
