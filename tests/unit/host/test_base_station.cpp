// SPDX-License-Identifier: GPL-3.0-or-later
// When the base station answers, what it takes in before it does, and what it does with the uplink.
#include <gtest/gtest.h>

#include "base_station_world.h"
#include "types/hyperframe.h"
#include "types/slot_time.h"

using namespace wip;
using namespace wip::host;

using slots = std::vector<std::int64_t>;

TEST_F(BaseStation, TheFirstThreeRequestsAreAnsweredAtOnceAndTheFourthWaitsForTheClock) {
    for (const std::int64_t k : {150, 151, 152, 153}) ask(k);
    EXPECT_EQ(planned(), (slots{150, 151, 152}));
    EXPECT_EQ(base.waits_for(), party::peer);
    hear(word(150));
    EXPECT_EQ(planned(), (slots{150, 151, 152, 153}));
    EXPECT_EQ(base.waits_for(), party::flowgraph);
}
TEST_F(BaseStation, ARequestThatComesAfterTheClockIsAnsweredAtOnce) {
    run(150, 160);
    hear(word(158));
    ask(161);
    EXPECT_EQ(planned().back(), 161);
}
TEST_F(BaseStation, ARequestThatWouldHaveToWaitForTheClockNeedNotWakeTheStation) {
    EXPECT_FALSE(base.flowgraph_can_wait());  // the first three are answered at once
    for (const std::int64_t k : {150, 151, 152}) ask(k);
    EXPECT_TRUE(base.flowgraph_can_wait());  // slot 153 waits for the end of slot 150
    hear(word(150));
    EXPECT_FALSE(base.flowgraph_can_wait());
    ask(153);
    EXPECT_EQ(planned().back(), 153);
    EXPECT_TRUE(base.flowgraph_can_wait());
    hear(word(151));
    EXPECT_FALSE(base.flowgraph_can_wait());
}
TEST_F(BaseStation, PacketsAreReadJustBeforePlanning) {
    run(150, 160);  // feedback has come, so frames may be sent
    ask(161);
    tun.give(ip_packet(100));  // it comes after the request and before the clock
    hear(word(158));
    ASSERT_EQ(planned().back(), 161);
    EXPECT_GT(port.plans.back().payload_size(), 0);
    EXPECT_EQ(status().downlink().in().packets(), 1U);
}
TEST_F(BaseStation, APacketIsDeliveredOnceEveryFrameIsAcknowledged) {
    run(150, 160);
    tun.give(ip_packet(1000));
    ask(161);
    hear(word(158));
    EXPECT_EQ(status().downlink().queued().packets(), 1U);
    for (std::int64_t k = 162; k < 180; ++k) {
        ask(k);
        hear(word(k - 3));
    }
    const auto s = status();
    EXPECT_EQ(s.downlink().delivered().packets(), 1U);
    EXPECT_EQ(s.downlink().delivered().bytes(), 1000U);
    EXPECT_TRUE(conserved(s.downlink()));
}
TEST_F(BaseStation, WhatIsNotIpIsDroppedAndCounted) {
    tun.give({1, 2, 3});
    EXPECT_TRUE(base.on_tun());
    EXPECT_EQ(dropped_with(status().downlink(), "not_ip"), 1U);
    EXPECT_TRUE(conserved(status().downlink()));
}
TEST_F(BaseStation, AnUplinkPacketIsWrittenWhenTheClockHasPassedTheSlotBeforeItsArrival) {
    run(150, 160);
    auto m = word(158);
    auto& p = *m.add_packets();
    p.set_arrival(161);
    const auto packet = ip_packet(60);
    p.set_data(packet.data(), packet.size());
    hear(m);
    ask(161);
    hear(word(159));
    EXPECT_TRUE(tun.take().empty());
    EXPECT_EQ(status().uplink().queued().packets(), 1U);
    EXPECT_TRUE(conserved(status().uplink()));
    ask(162);
    hear(word(160));
    EXPECT_EQ(tun.take(), packet);
    EXPECT_EQ(status().uplink().delivered().packets(), 1U);
    EXPECT_TRUE(conserved(status().uplink()));
}
TEST_F(BaseStation, UplinkPacketsAreDeliveredInOrderOfArrival) {
    run(150, 160);
    auto m = word(158);
    for (const int arrival : {165, 161, 163}) {
        const auto packet = ip_packet(60, static_cast<std::uint8_t>(arrival));
        m.add_packets()->set_arrival(arrival);
        m.mutable_packets(m.packets_size() - 1)->set_data(packet.data(), packet.size());
    }
    hear(m);
    for (std::int64_t k = 161; k < 170; ++k) {
        ask(k);
        hear(word(k - 2));
    }
    for (const int arrival : {161, 163, 165})
        EXPECT_EQ(tun.take(), ip_packet(60, static_cast<std::uint8_t>(arrival)));
}
TEST_F(BaseStation, APacketThatTheTunRefusesIsCountedWithItsReason) {
    tun.hang_up();
    auto m = word(0);
    m.clear_feedback();
    m.add_packets()->set_arrival(1);
    m.mutable_packets(0)->set_data(std::string(40, 'x'));
    hear(m);
    const auto s = status();
    EXPECT_EQ(dropped_with(s.uplink(), "tun_write_EPIPE"), 1U);
    EXPECT_TRUE(conserved(s.uplink()));
}
TEST_F(BaseStation, ASecondRequestForAPlannedSlotGetsAnEmptySlot) {
    run(150, 160);
    ask(159);
    EXPECT_EQ(port.plans.back().air(), 159);
    EXPECT_EQ(port.plans.back().payload_size(), 0);
    EXPECT_EQ(status().stale_messages(), 1U);
}
TEST_F(BaseStation, ADamagedRequestFarAheadDoesNotHoldUpTheTrueOnes) {
    run(150, 160);
    ask(900);
    ask(161);
    hear(word(158));
    EXPECT_EQ(planned().back(), 161);
    ask(5'000'000);
    EXPECT_FALSE(port.dropped.empty());
}
TEST_F(BaseStation, SlotsThatTheTransmitterLeavesOutAreNoObstacle) {
    run(150, 160);
    ask(170);
    for (std::int64_t j = 158; j <= 167; ++j) hear(word(std::min<std::int64_t>(j, 160)));
    auto m = word(160);
    m.clear_feedback();
    for (std::int64_t j = 161; j <= 167; ++j) {
        m.set_now(j);
        hear(m);
    }
    EXPECT_EQ(planned().back(), 170);
}
TEST_F(BaseStation, FeedbackForASlotThatWasNotSentIsRefused) {
    hear(word(150));
    EXPECT_EQ(port.dropped.size(), 1U);
    run(150, 160);
    port.dropped.clear();
    auto m = word(158);
    m.mutable_feedback()->set_air(170);
    hear(m);
    EXPECT_EQ(port.dropped, (std::vector<std::string>{"feedback for a slot that was not sent"}));
}
TEST_F(BaseStation, AClockThatJumpsDoesNotReleaseSlots) {
    run(150, 160);
    ask(161);
    ask(162);
    const auto before = planned();
    openwip::uplink::Uplink m;
    m.set_now(1000);
    hear(m);
    EXPECT_EQ(planned(), before);
}
TEST_F(BaseStation, GarbageFromThePeerIsDropped) {
    const std::uint8_t bytes[] = {0xff, 0xff, 0xff};
    base.on_peer(bytes);
    EXPECT_EQ(port.dropped.size(), 1U);
}
TEST_F(BaseStation, TheTerminalsGoodbyeIsPassedOn) {
    openwip::uplink::Uplink m;
    m.set_stop("enough");
    m.set_cause(openwip::stop::DIED);
    hear(m);
    EXPECT_EQ(port.peer_ended, "enough");
    EXPECT_EQ(port.peer_cause, openwip::stop::DIED);
}
TEST_F(BaseStation, AReceiversReportIsNotForTheBaseStation) {
    base.on_report({});
    EXPECT_EQ(port.dropped.size(), 1U);
}
// A sent slot reaches the terminal three slots later: its reports do, too.
class BehindAFader : public BaseStation {
protected:
    BehindAFader() : BaseStation({"link.fader_slots=3", "link.retransmission_delay_ms=4"}) {}
};
TEST_F(BehindAFader, APlanWaitsForAReportThatIsOlderByTheFadersSlots) {
    for (std::int64_t k = 150; k < 154; ++k) ask(k);
    EXPECT_EQ(planned().back(), 152);
    hear(word(150));
    for (std::int64_t k = 154; k < 160; ++k) ask(k);
    EXPECT_EQ(planned().back(), 156);
}
// With a lead the transmitter determines the time of a slot.
class FreeRunning : public BaseStation {
protected:
    FreeRunning()
        : BaseStation({"link.modulation=4", "link.transmit_lead_slots=6",
                       "link.retransmission_delay_ms=8"}) {}
    void ask_at_once(std::int64_t air) {
        ask(air);
        base.caught_up();
    }
};

TEST_F(FreeRunning, EveryRequestIsAnsweredAtOnceWhateverTheTerminalsClockSays) {
    for (std::int64_t k = 150; k < 160; ++k) {
        ask_at_once(k);
        EXPECT_EQ(planned().back(), k);
        EXPECT_FALSE(base.flowgraph_can_wait());
    }
    EXPECT_EQ(base.waits_for(), party::flowgraph);
}
TEST_F(FreeRunning, OfRequestsThatHavePiledUpOnlyTheLastIsPlanned) {
    ask_at_once(150);
    for (std::int64_t k = 151; k <= 200; ++k) ask(k);
    base.caught_up();
    EXPECT_EQ(planned(), (slots{150, 200}));
}
// A station that stalled for longer than a second: the first request after it may be damage,
// the second is not.
TEST_F(FreeRunning, AfterAStallOfAnyLengthItGoesOn) {
    for (std::int64_t k = 150; k < 160; ++k) ask_at_once(k);
    for (const std::int64_t k : {900'000, 900'001, 900'002}) ask_at_once(k);
    EXPECT_EQ(planned().back(), 900'002);
    EXPECT_GE(planned()[planned().size() - 2], 900'001);
}
// The transmitter's radio begins anew with slot 0: from its second request on it is served as
// before, by its own numbers, and the terminal, which follows the air, goes on.
TEST_F(FreeRunning, ATransmitterThatCountsAnewIsServedByItsOwnNumbersAndNothingIsLost) {
    const auto serve = [this](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k <= last; ++k) {
            ask_at_once(k);
            if (k - 2 >= first) hear(word(k - 2));
        }
    };
    serve(500'000, 500'029);
    tun.give(ip_packet(500));
    serve(0, 59);
    EXPECT_EQ(planned()[30], 1) << "of the first request of a jump it cannot be known";
    EXPECT_EQ(planned().back(), 59);
    EXPECT_EQ(planned().size(), 30U + 59U);
    for (const auto& p : port.plans) {
        const auto& bits = p.grant();
        const auto grant =
            unpack_grant(std::span<const std::uint8_t, grant_bytes>(
                             reinterpret_cast<const std::uint8_t*>(bits.data()), grant_bytes),
                         link_profile::radio);
        ASSERT_TRUE(grant);
        EXPECT_EQ(grant->frame_number, frame_number_of(slot(p.air()))) << p.air();
    }
    const auto s = status();
    EXPECT_EQ(s.downlink().delivered().packets(), 1U);
    EXPECT_TRUE(conserved(s.downlink()));
    EXPECT_GT(s.slot(), 500'029);
}
// The terminal's count is this one modulo a hyperframe, in whichever hyperframe it is.
TEST_F(FreeRunning, FeedbackIsOfTheSlotThatFitsTheAirWhateverTheTerminalsClock) {
    const std::int64_t start = 1'000'000;
    for (const std::int64_t other : {-8, 0, 1, 40'000}) {
        const auto before = status();
        const std::int64_t offset_slots = other * hyperframe_slots,
                           first = start + 1000 * (other + 8);
        for (std::int64_t k = first; k < first + 30; ++k) {
            ask_at_once(k);
            hear(word(k - 2 + offset_slots));
        }
        tun.give(ip_packet(500));
        for (std::int64_t k = first + 30; k < first + 60; ++k) {
            ask_at_once(k);
            hear(word(k - 2 + offset_slots));
        }
        const auto after = status();
        EXPECT_EQ(after.downlink().delivered().packets(),
                  before.downlink().delivered().packets() + 1)
            << other;
        EXPECT_EQ(after.base().frames_failed(), before.base().frames_failed()) << other;
    }
}
TEST_F(FreeRunning, AnUplinkPacketTakesAsManySlotsWhateverTheTerminalsClock) {
    for (const bool locked : {true, false}) {
        const std::int64_t first = locked ? 1000 : 2000,
                           offset_slots = locked ? 9 * hyperframe_slots : 12345;
        for (std::int64_t k = first; k < first + 20; ++k) {
            ask_at_once(k);
            auto m = word(k - 2 + offset_slots);
            m.set_locked(locked);
            if (!locked) m.clear_feedback();
            if (k == first + 10) {
                auto& p = *m.add_packets();
                p.set_arrival(k + offset_slots + 1);
                const auto packet = ip_packet(60);
                p.set_data(packet.data(), packet.size());
            }
            hear(m);
            EXPECT_EQ(!tun.take().empty(), k == first + 12) << locked << ' ' << k;
        }
    }
}
TEST_F(FreeRunning, BeforeItsFirstSlotItTakesWhatATerminalSends) {
    auto m = word(77'777);
    const auto packet = ip_packet(60);
    m.add_packets()->set_data(packet.data(), packet.size());
    hear(m);
    EXPECT_EQ(tun.take(), packet);
    EXPECT_TRUE(conserved(status().uplink()));
    EXPECT_TRUE(port.dropped.empty());
    for (std::int64_t k = 150; k < 160; ++k) ask_at_once(k);
    EXPECT_EQ(planned().back(), 159);
}
TEST_F(FreeRunning, FramesThatDidNotGoOutAreSentAgainInTheNextSlot) {
    for (std::int64_t k = 150; k < 165; ++k) {
        ask_at_once(k);
        hear(word(k));
    }
    tun.give(ip_packet(200));
    ask_at_once(165);
    const auto sent = status().base().frames_sent();
    ASSERT_GT(sent, 0U);
    openwip::slot_link::SlotRequest r;
    r.set_air(166);
    r.set_late_plans(1);
    r.add_not_sent(165);
    base.on_request(r);
    base.caught_up();
    EXPECT_EQ(status().base().slots_not_sent(), 1U);
    EXPECT_EQ(status().base().frames_sent(), 2 * sent);
    EXPECT_EQ(status().radio().late_plans(), 1U);
}
// The transmitter says it once, in the request behind the gap.
TEST_F(FreeRunning, FramesThatDidNotGoOutAreTakenFromARequestThatIsDroppedAsFar) {
    for (std::int64_t k = 150; k < 165; ++k) {
        ask_at_once(k);
        hear(word(k));
    }
    tun.give(ip_packet(200));
    ask_at_once(165);
    const auto sent = status().base().frames_sent();
    openwip::slot_link::SlotRequest r;
    r.set_air(175);
    r.add_not_sent(165);
    base.on_request(r);
    base.caught_up();
    EXPECT_EQ(planned().back(), 165);
    EXPECT_EQ(status().base().slots_not_sent(), 1U);
    EXPECT_EQ(status().base().frames_failed(), sent);
}

TEST_F(BaseStation, LateSlotsCountFromTheLastReset) {
    openwip::slot_link::SlotRequest r;
    r.set_air(150);
    r.set_late_slots(5);
    r.set_underflows(2);
    base.on_request(r);
    EXPECT_EQ(status().radio().late_slots(), 5U);
    base.reset_counters();
    EXPECT_EQ(status().radio().late_slots(), 0U);
    r.set_air(151);
    r.set_late_slots(7);
    base.on_request(r);
    EXPECT_EQ(status().radio().late_slots(), 2U);
    EXPECT_EQ(status().radio().underflows(), 0U);
}
TEST_F(BaseStation, TheUplinkIsNotConfiguredHere) {
    config::settings s(macd_keys());
    s.merge_assignment("role=base");
    s.merge_assignment("uplink.kbps=7");
    EXPECT_THROW(base.reconfigure(s, {"uplink.kbps"}), config::error);
}
TEST_F(BaseStation, TheReceiverIsNotConfiguredHere) {
    config::settings s(macd_keys());
    s.merge_assignment("role=base");
    EXPECT_THROW(base.reconfigure(s, {"link.combining"}), config::error);
    EXPECT_THROW(base.reconfigure(s, {"phy.predictor"}), config::error);
}
TEST_F(BaseStation, TheTerminalIsToldOfANewDelayOfTheLoopOnceItListens) {
    config::settings s(macd_keys());
    s.merge_assignment("role=base");
    s.merge_assignment("link.retransmission_delay_ms=10");
    run(150, 160);
    port.sent.clear();
    port.peer_listens = false;
    base.reconfigure(s, {"link.retransmission_delay_ms"});
    EXPECT_TRUE(port.sent.empty());
    port.peer_listens = true;
    run(161, 165);
    openwip::uplink::DownlinkControl note;
    ASSERT_EQ(port.sent.size(), 1U);
    ASSERT_TRUE(note.ParseFromString(port.sent[0]));
    EXPECT_EQ(note.loop_slots(), 15U);
    EXPECT_EQ(base.next_slot(), slot(166));
    // Settings that do not change the retransmission delay are not sent.
    base.reconfigure(s, {"link.bins"});
    EXPECT_EQ(port.sent.size(), 1U);
}
TEST_F(BaseStation, EverySlotIsAnnouncedOnce) {
    run(150, 160);
    ASSERT_EQ(port.done.size(), 11U);
    for (std::size_t i = 0; i < port.done.size(); ++i)
        EXPECT_EQ(port.done[i], slot(150 + static_cast<std::int64_t>(i)));
}

TEST_F(BaseStation, TopicSlotIsAboutASlotWhoseLoopIsClosed) {
    port.watched.want(topic::slot);
    run(150, 160);
    for (int i = 0; i < 6; ++i) tun.give(ip_packet(1500));
    go_on(161, 190);
    const auto& all = port.watched.of(topic::slot);
    ASSERT_GT(all.size(), 20U);
    for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].slot(), all[i - 1].slot() + 1);
    EXPECT_EQ(all.back().slot(), 187);
    const auto first = std::find_if(all.begin(), all.end(), [](const auto& m) {
        return m.slot_sample().bits_per_symbol()[0] != 0;
    });
    ASSERT_NE(first, all.end());
    const auto& s = first->slot_sample();
    EXPECT_EQ(s.bits_per_symbol()[0], 4);
    EXPECT_EQ(s.outcome()[0], 1) << "acknowledged";
    EXPECT_EQ(s.outcome()[20], 0) << "10 bins are in use";
    EXPECT_EQ(s.user()[0], 0);
    EXPECT_EQ(s.user()[20], static_cast<char>(255));
    EXPECT_EQ(s.retransmissions()[0], 0);
    EXPECT_EQ(s.predicted_snr_db(0), 20.0F);
    EXPECT_GT(s.queued_packets(), 0U);
    EXPECT_LE(s.queued_packets(), 6U);
    EXPECT_EQ(all.front().slot_sample().predicted_snr_db_size(), 0) << "nothing was heard yet";
    EXPECT_EQ(all.back().slot_sample().queued_packets(), 0U);
}

TEST_F(BaseStation, TopicFramesHasEveryFrameThatIsSent) {
    port.watched.want(topic::frames);
    run(150, 160);
    EXPECT_TRUE(port.watched.of(topic::frames).empty());
    tun.give(ip_packet(60));
    go_on(161, 166);
    ASSERT_EQ(port.watched.of(topic::frames).size(), 1U);
    const auto& f = port.watched.of(topic::frames)[0].frames();
    ASSERT_GE(f.slot_size(), 1);
    EXPECT_GE(f.slot(0).air(), 161);
    EXPECT_EQ(f.slot(0).grant().size(), std::size_t{grant_bytes});
    EXPECT_GE(f.slot(0).frames(), 1U);
    ASSERT_FALSE(f.bin().empty());
    EXPECT_EQ(f.bits_per_symbol()[0], 4);
    EXPECT_EQ(f.payload().size(), f.bin().size() * static_cast<std::size_t>(frame_payload_bytes(
                                                       link_profile::radio, 4)));
    EXPECT_EQ(f.payload()[0], 0x45) << "the packet's first byte";
    EXPECT_EQ(f.retransmissions()[0], 0);
    EXPECT_TRUE(f.outcome().empty());
    EXPECT_EQ(f.snr_db(0), 20.0F);
    EXPECT_EQ(f.nof_packets().size(), f.bin().size());
}

TEST_F(BaseStation, TopicIpNumbersTheDownlinkAndHasTheUplink) {
    port.watched.want(topic::ip);
    run(150, 155);
    tun.give(ip_packet(100, 1));
    tun.give(ip_packet(100, 2));
    auto m = word(153);
    auto& up = *m.add_packets();
    up.set_arrival(154);
    const auto data = ip_packet(80);
    up.set_data(data.data(), data.size());
    hear(m);
    go_on(156, 165);
    std::vector<openwip::telemetry::IpRecord> packets;
    for (const auto& message : port.watched.of(topic::ip))
        for (const auto& p : message.ip().packet()) packets.push_back(p);
    ASSERT_EQ(packets.size(), 3U);
    std::vector<std::uint64_t> numbers;
    for (const auto& p : packets) {
        EXPECT_EQ(p.out(), !p.downlink());
        if (p.downlink())
            numbers.push_back(p.number());
        else
            EXPECT_EQ(p.time_ns(), slot_start_ns(slot(154)));
    }
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1}));
}
