// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <stdexcept>

#include "informed_base_station.h"
#include "link/switch_table.h"

namespace wip {
namespace {

using BaseStation = test::informed_base_station;

int retransmissions_in(const slot_plan& p) {
    int n = 0;
    for (const auto& b : p.grant.bins) n += b.retransmission ? 1 : 0;
    return n;
}
int frames_in(const slot_plan& p) {
    int n = 0;
    for (const auto& b : p.grant.bins) n += b.bits_per_symbol != 0 ? 1 : 0;
    return n;
}

TEST(BaseStationMac, AFailedFrameIsSentAgainExactlyOneLoopLaterForEveryDelay) {
    for (int delay = 3; delay <= 48; ++delay) {
        link_config c;
        c.retransmission_delay_slots = delay;
        BaseStation b(c);
        b.give(20);
        const slot_plan first = b.step(1U << 4);
        ASSERT_EQ(frames_in(first), 10);
        for (int i = 1; i < delay; ++i) ASSERT_EQ(retransmissions_in(b.step()), 0) << delay;
        const slot_plan again = b.step();
        ASSERT_EQ(retransmissions_in(again), 1);
        for (std::size_t n = 0; n < nof_bins; ++n)
            if (again.grant.bins[n].retransmission) {
                EXPECT_EQ(again.grant.bins[n].sn, first.grant.bins[4].sn);
                EXPECT_EQ(again.payload[n], first.payload[4]);
            }
        for (int i = 0; i < delay + 2; ++i) ASSERT_EQ(retransmissions_in(b.step()), 0);
        EXPECT_EQ(b.stats().retransmissions[1], 1U);
    }
}

TEST(BaseStationMac, FeedbackThatDoesNotComeCountsAsNotReceived) {
    link_config c;
    BaseStation b(c);
    b.give(1, 100);
    const slot_plan first = b.mac.plan(slot(150));
    ASSERT_GT(frames_in(first), 0);
    b.mac.plan(slot(151));
    b.mac.plan(slot(152));
    EXPECT_EQ(retransmissions_in(b.mac.plan(slot(153))), frames_in(first));
    EXPECT_EQ(b.stats().feedback_missing, 1U);
    EXPECT_EQ(b.stats().frames_failed, static_cast<std::uint64_t>(frames_in(first)));
}

// The radio reports it in the next slot, so the frames do not wait for the retransmission delay of
// 12 slots.
TEST(BaseStationMac, FramesOfASlotThatWasNotSentAreSentAgainAtOnce) {
    link_config c;
    c.retransmission_delay_slots = 12;
    BaseStation b(c);
    b.give(3);
    const slot_plan lost = b.step();
    ASSERT_GT(frames_in(lost), 0);
    b.mac.on_not_sent(slot(150));
    b.mac.on_not_sent(slot(150));  // reported twice
    EXPECT_EQ(b.stats().slots_not_sent, 1U);
    EXPECT_EQ(b.stats().frames_failed, static_cast<std::uint64_t>(frames_in(lost)));
    const slot_plan again = b.step();
    EXPECT_EQ(retransmissions_in(again), frames_in(lost));
    // An acknowledgement of the slot, should there be one, says nothing any more.
    for (int i = 0; i < 40; ++i) b.step();
    EXPECT_EQ(b.stats().sent.packets, 3U);
    EXPECT_EQ(b.stats().frames_failed, static_cast<std::uint64_t>(frames_in(lost)));
    EXPECT_EQ(b.stats().frames_sent, b.stats().frames_acknowledged + b.stats().frames_failed);
}

TEST(BaseStationMac, ASlotThatIsSettledOrWasNeverPlannedCannotBeSaidToBeLost) {
    BaseStation b({});
    b.give(3);
    b.mac.on_not_sent(slot(150));
    for (int i = 0; i < 10; ++i) b.step();
    for (const std::int64_t s : {-5, 100, 150, 152, 160, 5000}) b.mac.on_not_sent(slot(s));
    EXPECT_EQ(b.stats().slots_not_sent, 0U);
    EXPECT_EQ(b.stats().frames_failed, 0U);
}

TEST(BaseStationMac, AGrantThatWasNotDecodedFailsAllFramesOfItsSlot) {
    BaseStation b({});
    b.give(1, 100);
    const slot_plan first = b.mac.plan(slot(150));
    b.hear(150, 0x1ffffff, 20.0F, false);
    b.mac.plan(slot(151));
    b.mac.plan(slot(152));
    EXPECT_EQ(retransmissions_in(b.mac.plan(slot(153))), frames_in(first));
}

TEST(BaseStationMac, FeedbackTooLateOrForASlotNotSentIsRefusedAndCounted) {
    BaseStation b({});
    b.give(1, 100);
    for (int i = 0; i < 5; ++i) b.mac.plan(slot(150 + i));
    b.hear(151, 0x1ffffff, 20.0F);  // this feedback was due at plan(154)
    b.hear(155, 0x1ffffff, 20.0F);  // this slot has not been sent yet
    EXPECT_EQ(b.stats().feedback_rejected, 2U);
    b.hear(152, 0, 20.0F);
    EXPECT_EQ(b.stats().feedback_rejected, 2U);
}

TEST(BaseStationMac, NothingIsSentBeforeTheTerminalIsHeardOrWhileItIsNotLocked) {
    base_station_mac mac({});
    mac.on_sdu(test::ipv4(100), slot(150));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(frames_in(mac.plan(slot(150 + i))), 0);
    slot_feedback f;
    f.locked = f.grant_ok = true;
    f.air = slot(159);
    mac.on_feedback(f);
    EXPECT_EQ(frames_in(mac.plan(slot(160))), 0);
    EXPECT_EQ(frames_in(mac.plan(slot(161))), 0);
    f.locked = false;
    f.air = slot(160);
    mac.on_feedback(f);
    EXPECT_GT(frames_in(mac.plan(slot(162))), 0);  // slot 159 has arrived
    EXPECT_EQ(frames_in(mac.plan(slot(163))), 0);  // slot 160: not locked
}

// Locked, but deaf for grants: that is as good as silent. It bounds how far the SNs run on.
TEST(BaseStationMac, AfterTwentyMillisecondsWithoutAGrantHeardNothingMoreIsSent) {
    for (const int delay : {3, 48}) {
        link_config c;
        c.bins = nof_bins;
        c.modulation = 1;
        c.max_retransmissions = 0;
        c.queue_packets = 1000;
        c.retransmission_delay_slots = delay;
        BaseStation b(c);
        b.give(1000);
        for (int i = 0; i < 3000; ++i) {
            b.mac.plan(slot(b.now));
            b.hear(b.now++, 0, 20.0F, false);
        }
        EXPECT_EQ(b.stats().frames_sent, static_cast<std::uint64_t>((30 + delay - 1) * nof_bins));
        EXPECT_LE(b.stats().frames_sent, static_cast<std::uint64_t>(most_blind_frames));
        for (int i = 0; i <= delay; ++i)
            b.hear(b.now + i - 1, 0, 20.0F), b.mac.plan(slot(b.now + i));
        EXPECT_GT(b.stats().frames_sent, static_cast<std::uint64_t>((30 + delay) * nof_bins));
    }
}

// Packets of two frames each, one frame a slot.
TEST(BaseStationMac, ABoundaryBehindAFrameGivenUpIsSaidUntilItIsHeard) {
    link_config c;
    c.profile = link_profile::wipemu;
    c.bins = 1;
    c.modulation = 1;
    c.max_retransmissions = 1;
    BaseStation b(c);
    b.give(40, 27);
    const auto step = [&](bool good, bool heard = true) {
        const slot_plan p = b.mac.plan(slot(b.now));
        b.hear(b.now++, good && heard ? 0x1ffffff : 0, 20.0F, heard);
        return p.grant;
    };
    EXPECT_EQ(step(true).bins[0].boundary, 0);             // SN 0: unasked, there is room
    EXPECT_EQ(step(false).bins[0].boundary, no_boundary);  // SN 1
    EXPECT_EQ(step(true, false).bins[0].boundary, 0);  // SN 2, and the terminal does not hear it
    step(true);
    EXPECT_EQ(step(false).bins[0].sn, 1);  // sent again, then dropped
    EXPECT_EQ(step(true).bins[0].sn, 2);
    EXPECT_EQ(step(true).runs[0].frames, 0);
    for (const bool heard : {false, true}) {
        const slot_grant g = step(true, heard);  // one delay after SN 1 was dropped, and one later
        EXPECT_EQ(g.runs[0], (boundary_run{2, 1, 0}));
        EXPECT_EQ(g.window_edge, g.first_new_sn - 2);  // SN 2 has arrived, its boundary has not
        for (int i = 0; i < 2; ++i) EXPECT_EQ(step(true).runs[0].frames, 0);
    }
    const slot_grant g = step(true);
    EXPECT_EQ(g.runs[0].frames, 0);
    EXPECT_LT(g.window_edge, g.first_new_sn - 2);
}

// The transmitter sends a quiet grant in place of what came too late, and the terminal hears that.
TEST(BaseStationMac, ABoundaryThatWasPlannedAloneAndNotSentIsSaidAgain) {
    link_config c;
    c.profile = link_profile::wipemu;
    c.bins = 1;
    c.modulation = 1;
    c.max_retransmissions = 1;
    BaseStation b(c);
    b.give(2, 27);
    const auto step = [&](bool good, bool heard = true) {
        const slot_plan p = b.mac.plan(slot(b.now));
        b.hear(b.now++, good && heard ? 0x1ffffff : 0, 20.0F, heard);
        return p;
    };
    step(true);
    step(false);        // SN 1
    step(true, false);  // SN 2, with its boundary
    step(true);
    step(false);  // SN 1 again, and dropped
    step(true);
    step(true);
    const slot_plan late = step(true);
    EXPECT_EQ(late.grant.runs[0], (boundary_run{2, 1, 0}));
    EXPECT_EQ(frames_in(late), 0);
    b.mac.on_not_sent(late.air);
    const slot_plan again = step(true);
    EXPECT_EQ(again.grant.runs[0], (boundary_run{2, 1, 0}));
    EXPECT_EQ(again.grant.window_edge, 2);
    EXPECT_EQ(b.stats().slots_not_sent, 0U);  // the counter is for slots with frames
    step(true);
    step(true);
    EXPECT_EQ(step(true).grant.window_edge, 0);
}

TEST(BaseStationMac, AfterTwentyMillisecondsOfSilenceNothingMoreIsSent) {
    BaseStation b({});
    b.give(54);
    b.step();
    int sent = 0;
    for (int i = 1; i < 100; ++i) sent += frames_in(b.mac.plan(slot(150 + i))) > 0;
    // The feedback of slots 147..150 is there; from plan(154) on none is.
    EXPECT_EQ(sent, 3 + 29);
}

TEST(BaseStationMac, RetransmissionsComeBeforeNewFrames) {
    link_config c;
    c.bins = 4;
    c.modulation = 2;
    BaseStation b(c);
    b.give(54);
    b.step(0xffffffff);
    b.step();
    b.step();
    const slot_plan p = b.step();
    EXPECT_EQ(retransmissions_in(p), 4);
    EXPECT_EQ(frames_in(p), 4);
}

TEST(BaseStationMac, StaticAllocationTakesTheFirstBinsAndBestTheStrongest) {
    for (const auto kind : {allocation_kind::fixed, allocation_kind::best}) {
        link_config c;
        c.bins = 3;
        c.allocation = kind;
        base_station_mac mac(c);
        slot_feedback f;
        f.locked = f.grant_ok = true;
        f.air = slot(97);
        for (std::size_t i = 0; i < nof_bins; ++i) f.predicted_snr_db[i] = 5.0F;
        f.predicted_snr_db[7] = 31.0F;
        f.predicted_snr_db[20] = 25.0F;
        f.predicted_snr_db[24] = 19.0F;
        f.predicted_snr_db[3] = std::numeric_limits<float>::quiet_NaN();
        mac.on_feedback(f);
        mac.on_sdu(test::ipv4(1500), slot(100));
        const slot_plan p = mac.plan(slot(100));
        EXPECT_EQ(frames_in(p), 3);
        if (kind == allocation_kind::fixed) {
            for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(p.grant.bins[i].bits_per_symbol, 1);
        } else {
            EXPECT_EQ(p.grant.bins[7].bits_per_symbol, 8);
            EXPECT_EQ(p.grant.bins[20].bits_per_symbol, 6);
            EXPECT_EQ(p.grant.bins[24].bits_per_symbol, 4);
        }
    }
}

TEST(BaseStationMac, AShortPacketTakesTheStrongestOfTheBestBins) {
    link_config c;
    c.bins = 10;
    base_station_mac mac(c);
    slot_feedback f;
    f.locked = f.grant_ok = true;
    f.air = slot(97);
    for (std::size_t i = 0; i < nof_bins; ++i) f.predicted_snr_db[i] = 20.0F;
    f.predicted_snr_db[20] = 31.0F;
    f.predicted_snr_db[23] = 31.0F;
    mac.on_feedback(f);
    mac.on_sdu(test::ipv4(200), slot(100));  // 1600 bits: two frames of 8 x 108 - 24
    const slot_plan p = mac.plan(slot(100));
    EXPECT_EQ(frames_in(p), 2);
    EXPECT_EQ(p.grant.bins[20].bits_per_symbol, 8);
    EXPECT_EQ(p.grant.bins[23].bits_per_symbol, 8);
}

TEST(BaseStationMac, AFrameFailedInAGoodBinIsCutWhenAllBinsHaveFaded) {
    link_config c;
    c.bins = 25;
    BaseStation b(c);
    b.give(2);
    const slot_plan first = b.step(1U, 40.0F);  // planned at 20 dB, then 40 dB is reported
    ASSERT_EQ(first.grant.bins[0].bits_per_symbol, 4);
    b.step(0, 40.0F);
    b.step(0, 40.0F);
    // plan(153) uses the report of slot 150.
    EXPECT_EQ(retransmissions_in(b.step(0, 10.0F)), 1);
    EXPECT_EQ(b.stats().frames_split, 0U);

    BaseStation d(c);
    d.give(2);
    d.step(1U, 10.0F);
    d.step(0, 10.0F);
    d.step(0, 10.0F);
    const slot_plan cut = d.step(0, 10.0F);
    EXPECT_EQ(d.stats().frames_split, 1U);
    EXPECT_EQ(retransmissions_in(cut), 3);  // 102 nibbles at 10 dB: 48 + 48 + 6
    EXPECT_FALSE(cut.grant.bins[0].whole);
    std::array<std::uint8_t, grant_bytes> bits;
    EXPECT_TRUE(pack_grant(cut.grant, c.profile, bits));
}

TEST(BaseStationMac, RetransmissionsThatDoNotFitTheGrantWaitAndAreCounted) {
    // Many cut units with far apart SNs cannot all be coded; nothing is lost, the rest comes later.
    link_config c;
    c.bins = 25;
    BaseStation b(c);
    b.give(54);
    // Every second slot all odd bins fail at a high rate; then the channel fades to one bit.
    for (int i = 0; i < 20; ++i) {
        b.step(0x0aaaaaa, i < 10 ? 40.0F : 0.0F);
        if (b.stats().queued.packets < 10) b.give(40);
    }
    for (int i = 0; i < 3000 && !b.mac.idle(); ++i) b.step(0, i % 3 == 0 ? 40.0F : 0.0F);
    EXPECT_TRUE(b.mac.idle());
    EXPECT_GT(b.stats().grant_overflows, 0U);
    EXPECT_EQ(b.stats().dropped_retransmissions.packets, 0U);
    EXPECT_EQ(b.stats().sent.packets + b.stats().dropped_queue_full.packets, b.stats().in.packets);
}

TEST(BaseStationMac, AFrameIsGivenUpAfterItsRetransmissionsAndTheEdgeMovesOn) {
    for (const int most : {0, 1, 2, 30}) {
        link_config c;
        c.max_retransmissions = most;
        c.bins = 1;
        c.modulation = 8;
        BaseStation b(c);
        b.give(1, 100);
        int sent = 0;
        std::int64_t slots = 0;
        for (; !b.mac.idle(); ++slots) sent += frames_in(b.step(0xffffffff));
        EXPECT_EQ(sent, most + 1);
        EXPECT_EQ(b.stats().frames_dropped, 1U);
        EXPECT_EQ(b.stats().dropped_retransmissions.packets, 1U);
        EXPECT_EQ(b.stats().dropped_retransmissions.bytes, 100U);
        EXPECT_EQ(b.stats().queued.packets, 0U);
        const slot_plan p = b.step();
        EXPECT_EQ(p.grant.window_edge, 0);
        EXPECT_EQ(p.grant.first_new_sn, 1);
    }
}

TEST(BaseStationMac, TheWindowStallsRatherThanOutgrowTheGrant) {
    link_config c;
    c.bins = 25;
    c.modulation = 1;
    c.retransmission_delay_slots = 48;
    c.queue_packets = 100000;
    BaseStation b(c);
    // SN 0 always fails: 31 transmissions of 48 slots, 25 frames a slot: more than 32767.
    bool stalled = false;
    std::uint16_t widest = 0;
    for (int i = 0; i < 31 * 48; ++i) {
        b.give(13, 20);  // 520 nibbles, 25 frames hold 525
        const slot_plan p = b.mac.plan(slot(b.now));
        std::uint32_t ack = 0;
        for (std::size_t n = 0; n < nof_bins; ++n) {
            const auto& g = p.grant.bins[n];
            if (g.bits_per_symbol != 0 && g.sn != 0) ack |= 1U << n;
        }
        widest = std::max(widest, p.grant.window_edge);
        b.hear(b.now, ack, 20.0F);
        ++b.now;
        stalled = stalled || b.stats().window_stalls > 0;
    }
    EXPECT_TRUE(stalled);
    EXPECT_EQ(widest, 32767);
    for (int i = 0; i < 2000; ++i) b.step();
    EXPECT_EQ(b.stats().frames_dropped, 1U);
    EXPECT_TRUE(b.mac.idle());
}

TEST(BaseStationMac, WhatIsNoIpPacketIsDroppedAtTheDoor) {
    base_station_mac mac({});
    EXPECT_FALSE(mac.on_sdu({}, slot(0)));
    auto p = test::ipv4(100);
    p.pop_back();
    EXPECT_FALSE(mac.on_sdu(p, slot(0)));
    EXPECT_FALSE(mac.on_sdu(std::vector<std::uint8_t>(100, 0x20), slot(0)));
    EXPECT_EQ(mac.statistics().dropped_not_ip.packets, 3U);
    EXPECT_EQ(mac.statistics().dropped_not_ip.bytes, 199U);
    EXPECT_TRUE(mac.idle());
}

TEST(BaseStationMac, TheQueueDropsItsTailAndCounts) {
    link_config c;
    c.queue_packets = 2;
    base_station_mac mac(c);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(mac.on_sdu(test::ipv4(50), slot(0)), i < 2);
    EXPECT_EQ(mac.statistics().dropped_queue_full.packets, 3U);
    EXPECT_EQ(mac.statistics().queued.packets, 2U);
    EXPECT_FALSE(mac.idle());
}

TEST(BaseStationMac, TheProfileCannotChangeInARunningCell) {
    base_station_mac mac({});
    link_config c;
    c.retransmission_delay_slots = 2;
    EXPECT_THROW(mac.reconfigure(c), std::invalid_argument);
    c.retransmission_delay_slots = 48;
    EXPECT_NO_THROW(mac.reconfigure(c));
    c = {};
    c.profile = link_profile::wipemu;
    EXPECT_THROW(mac.reconfigure(c), std::invalid_argument);
    c = {};
    c.bins = 99;
    EXPECT_THROW(mac.reconfigure(c), std::invalid_argument);
    c.bins = 25;
    c.modulation = 3;
    EXPECT_NO_THROW(mac.reconfigure(c));
}

TEST(BaseStationMac, AMeasuredSwitchTableStaysWhatItIsWhenSomethingElseChanges) {
    link_config c;
    c.switch_table = switch_table_kind::measured;
    const switch_table none(switch_table_kind::nmse_0, c.profile, c.eight),
        until_known(switch_table_kind::nmse_0_1, c.profile, c.eight);
    float snr = 5;
    while (none.bits_per_symbol(db(snr)) == until_known.bits_per_symbol(db(snr))) snr += 0.5F;
    BaseStation b(c);
    b.nmse = 0;
    b.give(200);
    for (int i = 0; i < 20; ++i) b.step(0, snr);
    for (int i = 0; i < c.retransmission_delay_slots; ++i) b.mac.plan(slot(b.now++));
    c.bins = nof_bins;
    b.mac.reconfigure(c);
    const slot_plan p = b.mac.plan(slot(b.now));  // nothing came about the slot that it evaluates
    for (const auto& bin : p.grant.bins)
        EXPECT_TRUE(bin.retransmission || bin.bits_per_symbol == none.bits_per_symbol(db(snr)));
    EXPECT_EQ(retransmissions_in(p), 10);
}

TEST(BaseStationMac, SlotsArePlannedInOrderAndAGapLosesNothing) {
    BaseStation b({});
    b.give(1, 200);
    b.step(0xffffffff);
    EXPECT_THROW(b.mac.plan(slot(150)), std::logic_error);
    b.now = 2'000'000'000;
    for (int i = 0; i < 10; ++i) b.step();
    EXPECT_TRUE(b.mac.idle());
    EXPECT_EQ(b.stats().sent.packets, 1U);
}

TEST(BaseStationRecord, HoldsWhatWasSentAndWhatBecameOfIt) {
    link_config c;
    c.bins = 2;
    c.allocation = allocation_kind::fixed;
    c.modulation = 4;
    BaseStation b(c);
    b.give(3);
    b.step(0b10);  // slot 150: bin 0 acknowledged, bin 1 not
    EXPECT_EQ(b.mac.record(slot(150)).air, slot(150));
    EXPECT_FALSE(b.mac.record(slot(150)).heard);
    EXPECT_LT(b.mac.resolved(), slot(150));
    EXPECT_EQ(b.mac.record(slot(150)).queued_packets, 3U);
    EXPECT_EQ(b.mac.record(slot(150)).queued_bytes, 4500U);
    for (int i = 0; i < 3; ++i) b.step();
    EXPECT_EQ(b.mac.resolved(), slot(150));
    const slot_record& r = b.mac.record(slot(150));
    EXPECT_TRUE(r.heard);
    EXPECT_EQ(r.acknowledged & 0b11U, 0b01U);
    EXPECT_EQ(r.bits_per_symbol[0], 4);
    EXPECT_EQ(r.bits_per_symbol[2], 0);
    EXPECT_EQ(r.retransmissions[1], 0);
    EXPECT_TRUE(r.predicted);
    EXPECT_EQ(r.predicted_snr_db[1], 20.0F);
    const slot_record& again = b.mac.record(slot(153));
    EXPECT_EQ(again.retransmissions[0] + again.retransmissions[1], 1);
}

TEST(BaseStationRecord, ASlotWithoutAWordFromTheTerminalWasNotHeard) {
    link_config c;
    BaseStation b(c);
    b.give(1);
    b.mac.plan(slot(150));
    for (int k = 151; k < 155; ++k) b.mac.plan(slot(k));
    EXPECT_FALSE(b.mac.record(slot(150)).heard);
    EXPECT_EQ(b.mac.record(slot(150)).acknowledged, 0U);
    EXPECT_NE(b.mac.record(slot(140)).air, slot(140)) << "it was not planned";
}

}  // namespace
}  // namespace wip
