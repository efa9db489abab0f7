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
TEST(SlotClock, ACountThatBeganAnewIsBelievedWhenItGoesOn) {
    slot_clock c;
    c.offer(slot(1'000'000));
    EXPECT_EQ(c.offer(slot(0)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(1)), verdict::advanced);
    EXPECT_EQ(c.offer(slot(2)), verdict::advanced);
    EXPECT_EQ(c.offer(slot(2)), verdict::stale);
}
TEST(SlotClock, TheOwnCountNeverGoesBackAndFitsTheOtherOneModuloAHyperframe) {
    for (const std::int64_t before : {100L, 1000L, 122'880L, 1'000'000L})
        for (const std::int64_t anew : {0L, 1L, before - 32}) {
            slot_clock c;
            c.offer(slot(before));
            c.offer(slot(anew));
            ASSERT_EQ(c.offer(slot(anew + 1)), verdict::advanced) << before << ' ' << anew;
            EXPECT_GT(c.value(), slot(before));
            EXPECT_LE(c.value(), slot(before + hyperframe_slots));
            EXPECT_EQ((c.value() - slot(anew + 1)).value % hyperframe_slots, 0);
            EXPECT_EQ(c.here(slot(anew + 1)), c.value());
            EXPECT_EQ(c.there(c.value()), slot(anew + 1));
        }
}
TEST(SlotClock, ACountMayBeginAnewAgainAndAgain) {
    slot_clock c;
    slot last;
    for (int times = 0; times < 5; ++times)
        for (std::int64_t s = 0; s < 100; ++s) {
            c.offer(slot(s));
            EXPECT_GE(c.value(), last);
            last = c.value();
        }
    EXPECT_EQ(last, slot(99 + 4 * hyperframe_slots));
}
TEST(SlotClock, TwoJumpsToDifferentPlacesAreBothDoubtful) {
    slot_clock c;
    c.offer(slot(150));
    EXPECT_EQ(c.offer(slot(900)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(700)), verdict::doubtful);
    EXPECT_EQ(c.offer(slot(701)), verdict::advanced);
}
