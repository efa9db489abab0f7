// SPDX-License-Identifier: GPL-3.0-or-later
// Cells in virtual time; cell_world.h says what is checked after every slot.
#include <gtest/gtest.h>

#include "cell_world.h"

namespace wip::sim {
namespace {

// Without frames given up, every packet that was accepted arrives, whole.
void expect_all_delivered(cell_world& w) {
    ASSERT_TRUE(w.drain());
    const auto& b = w.base_statistics_now();
    const auto& t = w.terminal_statistics_now();
    EXPECT_EQ(b.queued.packets, 0U);
    EXPECT_EQ(b.dropped_retransmissions.packets, 0U);
    EXPECT_EQ(b.sent.packets, t.delivered.packets);
    EXPECT_EQ(b.sent.bytes, t.delivered.bytes);
    EXPECT_EQ(w.intact(), b.sent.packets);
    EXPECT_EQ(t.dropped_lost_frame.packets, 0U);
    EXPECT_EQ(w.foreign(), 0U);
    EXPECT_GT(b.sent.packets, 0U);
}

TEST(CellWorld, AnErrorFreeLinkDeliversEverything) {
    world_config c;
    c.channel.frame_error = 0;
    cell_world w(c);
    w.run(3000);
    expect_all_delivered(w);
    EXPECT_EQ(w.base_statistics_now().frames_failed, 0U);
}

TEST(CellWorld, FadingWithAdaptiveModulationDeliversEverything) {
    for (const bool in_order : {true, false}) {
        for (const bool packing : {true, false}) {
            world_config c;
            c.link.in_order = in_order;
            c.link.packing = packing;
            c.link.bins = 25;
            c.traffic.saturate = true;
            c.channel.prediction_nmse = 0.1;
            cell_world w(c);
            w.run(5000);
            expect_all_delivered(w);
            EXPECT_GT(w.base_statistics_now().frames_failed, 1000U);
            EXPECT_GT(w.base_statistics_now().frames_split, 100U);
        }
    }
}

}  // namespace
}  // namespace wip::sim
