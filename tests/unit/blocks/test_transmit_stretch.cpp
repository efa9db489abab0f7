// SPDX-License-Identifier: GPL-3.0-or-later
// The slots of a transmitter whose device says that it was late, and plans that are none.
#include <gtest/gtest.h>

#include <vector>

#include "plan_message.h"
#include "transmit_stretch.h"

namespace wip {

TEST(TransmitStretch, AFaultEndsItWithAFillerAndAnotherBeginsLater) {
    transmit_stretch s(slot(150), slot_count(30));
    EXPECT_TRUE(s.begins());
    for (int i = 0; i < 5; ++i) s.made();
    EXPECT_EQ(s.next(), slot(155));
    EXPECT_FALSE(s.begins());
    s.fault(slot(153));
    EXPECT_TRUE(s.broken());
    s.ended();
    EXPECT_EQ(s.next(), slot(185));
    EXPECT_TRUE(s.begins());
    EXPECT_FALSE(s.broken());
}

TEST(TransmitStretch, FaultsOfAStretchThatIsGivenUpDoNotCount) {
    transmit_stretch s(slot(150), slot_count(10));
    s.fault(std::nullopt);  // nothing has been sent yet
    EXPECT_FALSE(s.broken());
    s.made();
    s.fault(std::nullopt);
    s.ended();
    EXPECT_EQ(s.next(), slot(161));
    s.made();
    s.fault(slot(152));
    EXPECT_FALSE(s.broken());
    s.fault(slot(161));
    EXPECT_TRUE(s.broken());
}

TEST(TransmitStretch, AFaultInTheFutureIsWaitedFor) {
    transmit_stretch s(slot(0), slot_count(10));
    s.made();
    s.fault(slot(400));
    s.ended();
    EXPECT_EQ(s.next(), slot(410));
}

TEST(TransmitStretch, WhatWasMadeUpToAMomentIsTheSlotBeforeAGapWhereTheMomentIsInIt) {
    transmit_stretch s(slot(150), slot_count(10));
    for (int i = 0; i < 5; ++i) s.made();
    EXPECT_EQ(s.made_until(slot(153)), slot(153));
    EXPECT_EQ(s.made_until(slot(200)), slot(154));  // slot 200 has not been made yet
    s.skip_to(slot(230));
    for (const int moment : {154, 155, 200, 229, 240})
        EXPECT_EQ(s.made_until(slot(moment)), slot(154)) << moment;
    s.made();
    EXPECT_EQ(s.made_until(slot(229)), slot(154));
    EXPECT_EQ(s.made_until(slot(240)), slot(230));
}

TEST(TransmitStretch, AFaultBeforeAGapThatHasEndedTheStretchDoesNotCount) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 5; ++i) s.made();
    s.skip_to(slot(158));
    s.made();
    s.fault(slot(154));  // the radio ran dry, and was late until the end of the burst
    s.fault(slot(157));
    EXPECT_FALSE(s.broken());
    s.fault(slot(158));
    EXPECT_TRUE(s.broken());
    s.ended();
    EXPECT_EQ(s.next(), slot(160));
    EXPECT_TRUE(s.begins());
}

TEST(TransmitStretch, LeftOutIsWhatLiesBetweenTwoStretches) {
    transmit_stretch s(slot(150), slot_count(2));
    s.skip_to(slot(152));  // the skip comes before the first slot
    s.made();
    s.fault(slot(152));
    s.ended();
    s.skip_to(slot(158));  // the same gap becomes longer
    for (const int n : {153, 157}) EXPECT_TRUE(s.is_skipped(slot(n))) << n;
    for (const int n : {149, 152, 158}) EXPECT_FALSE(s.is_skipped(slot(n))) << n;
}

// 150 slots were made up to 156; at 152.5 the radio had no sample, the next one came at 154.8.
constexpr sample dry_at(152 * 5120 + 2560), next_came_at(154 * 5120 + 4096);

TEST(TransmitStretch, AfterARadioRanDryTheGapIsAsLongAsItIsBehind) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 6; ++i) s.made();
    s.ran_dry(dry_at);
    EXPECT_TRUE(s.broken());
    s.was_late(next_came_at);  // 2.3 slots behind
    s.ended();
    EXPECT_EQ(s.next(), slot(156 + 1 + 2));
    s.was_late(sample(155 * 5120));  // further packets of the old burst are dropped
    EXPECT_EQ(s.next(), slot(159));
}

TEST(TransmitStretch, AStretchThatHasNotBegunYetBeginsBehindTheLateRadio) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 6; ++i) s.made();
    s.skip_to(slot(157));  // skipped, since the transmitter was late as well
    s.ran_dry(dry_at);
    EXPECT_EQ(s.next(), slot(157));
    s.was_late(next_came_at);
    EXPECT_EQ(s.next(), slot(159));
    EXPECT_FALSE(s.broken());
}

TEST(TransmitStretch, AStretchThatBeganBehindByLessThanTheRadioIsEnded) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 6; ++i) s.made();
    s.skip_to(slot(157));
    s.made();
    s.made();
    s.ran_dry(dry_at);
    s.was_late(next_came_at);  // up to 158.3, so that the stretch from 157 on is late by 1.3
    EXPECT_TRUE(s.broken());
    s.ended();
    EXPECT_EQ(s.next(), slot(159 + 1 + 2));
}

TEST(TransmitStretch, AStretchThatBeganInTimeGoesOn) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 6; ++i) s.made();
    s.skip_to(slot(165));
    s.made();
    s.ran_dry(dry_at);
    s.was_late(next_came_at);
    EXPECT_FALSE(s.broken());
}

TEST(TransmitStretch, WhatIsLateWithoutRunningDryIsLateSinceItsStretchBegan) {
    transmit_stretch s(slot(150), slot_count(1));
    for (int i = 0; i < 3; ++i) s.made();
    s.was_late(sample(151 * 5120 + 512));  // the first packet, 1.1 slots after its time
    s.ended();
    EXPECT_EQ(s.next(), slot(153 + 1 + 1));
}

TEST(TransmitStretch, BurstsOfSomeSlotsFollowOneAnotherWithoutAGap) {
    transmit_stretch s(slot(61), slot_count(1));
    s.set_burst(slot_count(64));
    EXPECT_FALSE(s.is_open());
    s.made();
    EXPECT_TRUE(s.is_open());
    EXPECT_FALSE(s.ends_burst());
    s.made();
    EXPECT_TRUE(s.ends_burst());  // 63
    s.made();
    EXPECT_TRUE(s.resumes());
    EXPECT_FALSE(s.is_open());
    EXPECT_FALSE(s.begins());
    s.made();
    EXPECT_TRUE(s.is_open());
    s.skip_to(slot(128));
    EXPECT_FALSE(s.resumes());  // it is the first of its stretch
}

TEST(PlanMessage, WhatIsNoPlanIsRefused) {
    openwip::slot_link::SlotPlan plan;
    EXPECT_FALSE(read_plan(plan));
    std::array<std::uint8_t, grant_bytes> bytes;
    ASSERT_TRUE(pack_grant(slot_grant{}, link_profile::radio, bytes));
    plan.set_grant(bytes.data(), bytes.size());
    auto* p = plan.add_payload();
    p->set_bin(24);
    p->set_payload("abc");
    const auto read = read_plan(plan);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->payload[24].size(), 3U);
    EXPECT_TRUE(read->payload[0].empty());
    p->set_bin(25);
    EXPECT_FALSE(read_plan(plan));
    p->set_bin(0);
    plan.mutable_grant()->pop_back();
    EXPECT_FALSE(read_plan(plan));
}

}  // namespace wip
