// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "macd/slot_clock.h"

using namespace wip;
using namespace wip::host;
using verdict = slot_clock::verdict;

TEST(SlotClock, TheFirstSlotIsBelieved) {
    slot_clock c;
    EXPECT_FALSE(c.known());
    EXPECT_EQ(c.offer(slot(150)), verdict::advanced);
    EXPECT_TRUE(c.known());
    EXPECT_EQ(c.value(), slot(150));
}
TEST(SlotClock, SmallStepsAreBelieved) {
    slot_clock c;
    c.offer(slot(150));
    EXPECT_EQ(c.offer(slot(151)), verdict::advanced);
    EXPECT_EQ(c.offer(slot(155)), verdict::advanced);
    EXPECT_EQ(c.value(), slot(155));
}
TEST(SlotClock, ARepeatedSlotIsStale) {
    slot_clock c;
    c.offer(slot(150));
    EXPECT_EQ(c.offer(slot(150)), verdict::stale);
    EXPECT_EQ(c.offer(slot(121)), verdict::stale);
    EXPECT_EQ(c.value(), slot(150));
}
TEST(SlotClock, ADamagedJumpInEitherDirectionLeavesNoTrace) {
    slot_clock c;
    c.offer(slot(150));
    for (const std::int64_t far : {155L, 1000L, 1L << 39, 100L, 0L}) {
        EXPECT_EQ(c.offer(slot(far)), verdict::doubtful) << far;
        EXPECT_EQ(c.offer(slot(c.value().value + 1)), verdict::advanced) << far;
    }
    EXPECT_EQ(c.value(), slot(155));
}
TEST(SlotClock, AGapIsBelievedWhenTheNextSlotGoesOnFromIt) {
    slot_clock c;
    c.offer(slot(150));
    EXPECT_EQ(c.offer(slot(900)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(901)), verdict::advanced);
    EXPECT_EQ(c.value(), slot(901));
}
TEST(SlotClock, TimeNeverRunsBackwards) {
    slot_clock c;
    c.offer(slot(1000));
    EXPECT_EQ(c.offer(slot(500)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(501)), verdict::doubtful);
    EXPECT_EQ(c.value(), slot(1000));
}
TEST(SlotClock, TwoJumpsToDifferentPlacesAreBothDoubtful) {
    slot_clock c;
    c.offer(slot(150));
    EXPECT_EQ(c.offer(slot(900)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(700)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(701)), verdict::advanced);
}
