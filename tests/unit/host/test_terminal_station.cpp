// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal: one uplink message for every report, its clock, its packets, its feedback.
#include <gtest/gtest.h>

#include <optional>

#include "macd/terminal_station.h"
#include "station_world.h"
#include "types/slot_time.h"

using namespace wip;
using namespace wip::host;
using openwip::slot_link::SlotReport;

namespace {

class Terminal : public testing::Test {
protected:
    Terminal() { start({}); }
    void start(const std::vector<std::string>& assignments) {
        terminal.emplace(configuration("terminal", assignments), *tun.tun, port);
    }
    // An empty slot, received.
    static SlotReport report(std::int64_t air, bool locked = true) {
        SlotReport r;
        r.set_air(air);
        r.set_locked(locked);
        r.set_grant_ok(locked);
        if (locked) {
            slot_grant g;
            g.frame_number = frame_number_of(slot(air));
            r.mutable_grant()->resize(grant_bytes);
            pack_grant(
                g, link_profile::radio,
                std::span<std::uint8_t, grant_bytes>(
                    reinterpret_cast<std::uint8_t*>(r.mutable_grant()->data()), grant_bytes));
        }
        for (int b = 0; b < nof_bins; ++b) {
            r.add_snr_db(20);
            r.add_predicted_snr_db(17.5);
        }
        return r;
    }
    void run(std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k <= last; ++k) terminal->on_report(report(k));
    }
    openwip::control::MacStatus status() const {
        openwip::control::MacStatus s;
        terminal->fill(s);
        return s;
    }

    tun_pair tun;
    station_port_spy port;
    std::optional<terminal_station> terminal;
};

}  // namespace

TEST_F(Terminal, TheFeedbackSaysHowGoodThePredictionIsOnceTheReceiverHasMeasuredIt) {
    auto r = report(150);
    r.mutable_state();
    terminal->on_report(r);
    EXPECT_FALSE(port.last_uplink().feedback().has_prediction_nmse());
    r = report(151);
    r.mutable_state()->set_prediction_nmse(0.0625);
    terminal->on_report(r);
    EXPECT_EQ(port.last_uplink().feedback().prediction_nmse(), 0.0625F);
    terminal->on_report(report(152));  // the state comes with every 15th report only
    EXPECT_EQ(port.last_uplink().feedback().prediction_nmse(), 0.0625F);
}

TEST_F(Terminal, EveryReportMakesOneUplinkMessageWithClockAndFeedback) {
    run(150, 159);
    ASSERT_EQ(port.sent.size(), 10U);
    const auto m = port.last_uplink();
    EXPECT_EQ(m.now(), 159);
    EXPECT_TRUE(m.locked());
    EXPECT_EQ(m.feedback().air(), 159);
    EXPECT_TRUE(m.feedback().grant_ok());
    EXPECT_EQ(m.feedback().predicted_snr_cdb(3), 1750);
}
TEST_F(Terminal, WithoutLockTheClockGoesOnAndThereIsNoFeedback) {
    terminal->on_report(report(150, false));
    const auto m = port.last_uplink();
    EXPECT_EQ(m.now(), 150);
    EXPECT_FALSE(m.locked());
    EXPECT_FALSE(m.has_feedback());
}
TEST_F(Terminal, LostFeedbackIsCountedAndTheClockStillGoesOn) {
    start({"uplink.feedback_loss=1"});
    run(150, 152);
    const auto m = port.last_uplink();
    EXPECT_EQ(m.now(), 152);
    EXPECT_FALSE(m.has_feedback());
    EXPECT_EQ(status().uplink_feedback().packets(), 3U);
}
TEST_F(Terminal, APacketLeavesWhenItsLastBitIsSentAndArrivesTwoSlotsLater) {
    // 1 slot of 600 kbit/s is 50 bytes.
    start({"uplink.kbps=600"});
    run(150, 150);
    tun.give(ip_packet(100));
    EXPECT_TRUE(terminal->on_tun());  // in slot 151
    run(151, 151);
    EXPECT_EQ(port.last_uplink().packets_size(), 0);
    EXPECT_EQ(status().uplink().queued().packets(), 1U);
    run(152, 152);
    const auto m = port.last_uplink();
    ASSERT_EQ(m.packets_size(), 1);
    EXPECT_EQ(m.packets(0).arrival(), 154);
    const auto packet = ip_packet(100);
    EXPECT_EQ(m.packets(0).data(), std::string(packet.begin(), packet.end()));
    EXPECT_EQ(status().uplink().delivered().packets(), 1U);
    EXPECT_TRUE(conserved(status().uplink()));
}
TEST_F(Terminal, APacketThatComesWithTheReportStillGoesIntoThatSlot) {
    start({"uplink.kbps=600"});
    run(150, 150);
    tun.give(ip_packet(50));
    run(151, 151);
    ASSERT_EQ(port.last_uplink().packets_size(), 1);
    EXPECT_EQ(port.last_uplink().packets(0).arrival(), 153);
}
TEST_F(Terminal, PacketsForAPeerThatIsNotThereAreCounted) {
    port.peer_listens = false;
    run(150, 150);
    tun.give(ip_packet(40));
    run(151, 160);
    const auto s = status();
    EXPECT_EQ(dropped_with(s.uplink(), "no_connection"), 1U);
    EXPECT_TRUE(conserved(s.uplink()));
}
TEST_F(Terminal, TheQueueLimitIsKeptAndCounted) {
    start({"uplink.queue_packets=5", "uplink.kbps=1"});
    run(150, 150);
    for (int i = 0; i < 8; ++i) tun.give(ip_packet(100));
    terminal->on_tun();
    const auto s = status();
    EXPECT_EQ(dropped_with(s.uplink(), "queue_full"), 3U);
    EXPECT_EQ(s.uplink().queued().packets(), 5U);
    EXPECT_TRUE(conserved(s.uplink()));
}
TEST_F(Terminal, ARepeatedSlotIsStaleAndSendsNothing) {
    run(150, 155);
    port.sent.clear();
    terminal->on_report(report(155));
    EXPECT_TRUE(port.sent.empty());
    EXPECT_TRUE(port.dropped.empty());
    EXPECT_EQ(status().stale_messages(), 1U);
}
TEST_F(Terminal, AJumpIsMalformedUntilItGoesOn) {
    run(150, 155);
    port.sent.clear();
    terminal->on_report(report(2000));
    EXPECT_TRUE(port.sent.empty());
    EXPECT_EQ(port.dropped.size(), 1U);
    run(156, 156);
    EXPECT_EQ(port.last_uplink().now(), 156);
    terminal->on_report(report(3000));
    terminal->on_report(report(3001));
    EXPECT_EQ(port.last_uplink().now(), 3001);
}
TEST_F(Terminal, AReceiverThatCountsAnewIsHeardAgainFromItsSecondReportOn) {
    run(500'000, 500'009);
    run(0, 9);
    const auto m = port.last_uplink();
    EXPECT_EQ(port.sent.size(), 10U + 9U);
    EXPECT_GT(m.now(), 500'009) << "its own count does not go back";
    EXPECT_EQ(m.now() % hyperframe_slots, 9) << "and fits the air";
    EXPECT_EQ(m.feedback().air(), m.now());
    EXPECT_TRUE(m.feedback().grant_ok());
    EXPECT_EQ(status().slot(), m.now());
    EXPECT_EQ(status().terminal().grants_failed(), 0U);
}
TEST_F(Terminal, AReportThatNoReceiverSendsIsDropped) {
    auto r = report(150);
    r.mutable_grant()->clear();
    terminal->on_report(r);
    EXPECT_EQ(port.dropped.size(), 1U);
    EXPECT_TRUE(port.sent.empty());
}
TEST_F(Terminal, ATransmittersRequestIsNotForTheTerminal) {
    terminal->on_request({});
    EXPECT_EQ(port.dropped.size(), 1U);
}
TEST_F(Terminal, TheBaseStationsGoodbyeIsPassedOnAndItsHelloIsNot) {
    openwip::uplink::DownlinkControl note;
    note.set_hello("demo");
    note.add_format("link.packing = on");
    std::string bytes = note.SerializeAsString();
    terminal->on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_TRUE(port.peer_ended.empty());
    EXPECT_EQ(port.format, std::vector<std::string>{"link.packing = on"});
    note.set_stop("over");
    note.set_cause(openwip::stop::GONE);
    bytes = note.SerializeAsString();
    terminal->on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_EQ(port.peer_ended, "over");
    EXPECT_EQ(port.peer_cause, openwip::stop::GONE);
    EXPECT_TRUE(port.dropped.empty());
}
TEST_F(Terminal, GarbageFromThePeerIsDropped) {
    const std::uint8_t bytes[] = {0xff, 0xff};
    terminal->on_peer(bytes);
    terminal->on_peer({});
    EXPECT_EQ(port.dropped.size(), 2U);
}
TEST_F(Terminal, TheStateOfTheReceiverIsShown) {
    auto r = report(150);
    r.mutable_state()->set_cfo_hz(123.5);
    r.mutable_state()->set_lock_losses(2);
    r.mutable_state()->set_overflows(4);
    r.mutable_state()->set_clipped(70);
    r.mutable_state()->set_mode("locked");
    r.mutable_state()->set_cell(17);
    r.mutable_state()->set_losses_gap(1);
    terminal->on_report(r);
    EXPECT_TRUE(status().radio().locked());
    EXPECT_EQ(status().radio().cfo_hz(), 123.5);
    EXPECT_EQ(status().radio().lock_losses(), 2U);
    EXPECT_EQ(status().radio().overflows(), 4U);
    EXPECT_EQ(status().radio().clipped(), 70U);
    EXPECT_EQ(status().radio().mode(), "locked");
    EXPECT_EQ(status().radio().cell(), 17);
    EXPECT_EQ(status().radio().losses_gap(), 1U);
    EXPECT_NEAR(status().radio().mean_snr_db(), 20, 1e-6);
    terminal->reset_counters();
    EXPECT_EQ(status().radio().overflows(), 0U);
    EXPECT_EQ(status().radio().clipped(), 0U);
    auto next = report(151);
    next.mutable_state()->set_clipped(75);
    terminal->on_report(next);
    EXPECT_EQ(status().radio().clipped(), 5U);
}
TEST_F(Terminal, TheLinkIsNotConfiguredHereAndTheUplinkIs) {
    config::settings s(macd_keys());
    s.merge_assignment("role=terminal");
    EXPECT_THROW(terminal->reconfigure(s, {"link.bins"}), config::error);
    EXPECT_THROW(terminal->reconfigure(s, {"to_base.delay_ms"}), config::error);
    // Code is loaded at the start, and nobody makes a running cell load any.
    config::settings code = s;
    code.merge_assignment("phy.predictor=library:/tmp/somebody.so");
    EXPECT_THROW(terminal->reconfigure(code, {"phy.predictor"}), config::error);
    s.merge_assignment("uplink.loss=1");
    terminal->reconfigure(s, {"uplink.loss"});
    run(150, 150);
    tun.give(ip_packet(40));
    run(151, 155);
    EXPECT_EQ(dropped_with(status().uplink(), "uplink_loss"), 1U);
}
TEST_F(Terminal, TheReceiverIsToldOfItsSettingsUntilItsStateSaysThatTheyHold) {
    config::settings s(macd_keys());
    s.merge_assignment("role=terminal");
    s.merge_assignment("link.combining=off");
    s.merge_assignment("phy.predictor=kalman");
    terminal->reconfigure(s, {"link.combining", "phy.predictor"});
    ASSERT_EQ(port.receiver.size(), 1U);
    EXPECT_TRUE(port.receiver[0].has_combining());
    EXPECT_FALSE(port.receiver[0].combining());
    EXPECT_EQ(port.receiver[0].predictor(), "kalman");
    EXPECT_FALSE(port.receiver[0].has_horizon());

    auto r = report(150);
    r.mutable_state()->set_combining(true);
    r.mutable_state()->set_predictor("delay");
    for (std::int64_t k = 150; k < 160; ++k) {
        r.set_air(k);
        terminal->on_report(r);
    }
    EXPECT_EQ(port.receiver.size(), 2U);  // requested again
    EXPECT_EQ(status().radio().predictor(), "delay");
    r.mutable_state()->set_combining(false);
    r.mutable_state()->set_predictor("kalman");
    for (std::int64_t k = 160; k < 200; ++k) {
        r.set_air(k);
        terminal->on_report(r);
    }
    EXPECT_EQ(port.receiver.size(), 2U);
    EXPECT_EQ(status().radio().predictor(), "kalman");
    EXPECT_FALSE(status().radio().combining());
}
TEST_F(Terminal, ThePredictionGoesAsFarAheadAsTheLoopIsLong) {
    openwip::uplink::DownlinkControl note;
    note.set_loop_slots(12);
    std::string bytes = note.SerializeAsString();
    terminal->on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    ASSERT_EQ(port.receiver.size(), 1U);
    EXPECT_EQ(port.receiver[0].horizon(), 12U);
    EXPECT_FALSE(port.receiver[0].has_predictor());
    note.set_loop_slots(65);  // longer than any retransmission delay
    bytes = note.SerializeAsString();
    terminal->on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    EXPECT_EQ(port.receiver.size(), 1U);
    EXPECT_EQ(port.dropped.size(), 1U);
}
// A setting is changed and changed back while the first change is on its way: the state has had the
// wanted value all along.
TEST_F(Terminal, ASettingOfTheReceiverThatGetsLostIsSaidAgainWhenAnEarlierOneTakesEffect) {
    config::settings s(macd_keys());
    s.merge_assignment("role=terminal");
    for (const auto* predictor : {"kalman", "delay"}) {
        s.merge_assignment(std::string("phy.predictor=") + predictor);
        terminal->reconfigure(s, {"phy.predictor"});
    }
    ASSERT_EQ(port.receiver.size(), 2U);
    auto r = report(150);
    const auto states = [&](const char* predictor, std::int64_t from, std::int64_t to) {
        r.mutable_state()->set_predictor(predictor);
        for (std::int64_t k = from; k < to; ++k) {
            r.set_air(k);
            terminal->on_report(r);
        }
    };
    states("delay", 150, 170);
    EXPECT_EQ(port.receiver.size(), 2U);
    states("kalman", 170, 180);
    ASSERT_EQ(port.receiver.size(), 3U);
    EXPECT_EQ(port.receiver[2].predictor(), "delay");
    states("kalman", 180, 200);
    EXPECT_EQ(port.receiver.size(), 5U);
    states("delay", 200, 250);
    EXPECT_EQ(port.receiver.size(), 5U);
}
TEST_F(Terminal, ASettingThatTheReceiverDoesNotKnowIsNotSaidForEver) {
    config::settings s(macd_keys());
    s.merge_assignment("role=terminal");
    s.merge_assignment("phy.predictor=ar");
    terminal->reconfigure(s, {"phy.predictor"});
    auto r = report(150);
    r.mutable_state()->set_predictor("delay");
    r.mutable_state()->set_settings_refused(1);
    for (std::int64_t k = 150; k < 300; ++k) {
        r.set_air(k);
        terminal->on_report(r);
    }
    EXPECT_EQ(port.receiver.size(), 1U);
    EXPECT_EQ(status().radio().settings_refused(), 1U);
}
TEST_F(Terminal, ItSaysGoodbyeWithTheReason) {
    run(150, 151);
    terminal->say_goodbye({openwip::stop::DIED, "the flowgraph died"});
    EXPECT_EQ(port.last_uplink().stop(), "the flowgraph died");
    EXPECT_EQ(port.last_uplink().cause(), openwip::stop::DIED);
}

namespace {

// Bins 0 and 4 carry a frame of 4 and 2 bits/symbol, the second one damaged.
openwip::slot_link::SlotReport with_frames(openwip::slot_link::SlotReport r) {
    slot_grant g;
    g.frame_number = frame_number_of(slot(r.air()));
    g.first_new_sn = 77;
    g.bins[0] = {.bits_per_symbol = 4, .sn = 77};
    g.bins[4] = {.bits_per_symbol = 2, .sn = 78};
    pack_grant(g, link_profile::radio,
               std::span<std::uint8_t, grant_bytes>(
                   reinterpret_cast<std::uint8_t*>(r.mutable_grant()->data()), grant_bytes));
    for (const int b : {0, 4}) {
        auto& bin = *r.add_bins();
        bin.set_bin(static_cast<std::uint32_t>(b));
        bin.set_outcome(b == 0 ? openwip::slot_link::GOOD : openwip::slot_link::BAD);
        bin.set_payload(std::string(
            static_cast<std::size_t>(frame_payload_bytes(link_profile::radio, b == 0 ? 4 : 2)),
            'p'));
        bin.set_combined(b == 4);
    }
    return r;
}

}  // namespace

TEST_F(Terminal, NothingIsMadeOfATopicThatNobodyWants) {
    run(150, 170);
    for (std::size_t t = 0; t < nof_topics; ++t)
        EXPECT_TRUE(port.watched.of(static_cast<topic>(t)).empty());
    EXPECT_TRUE(port.detail_every.empty());
}

TEST_F(Terminal, TopicSlotSaysWhatWasMeasuredPredictedAndDecided) {
    port.watched.want(topic::slot);
    auto r = with_frames(report(150));
    r.set_snr_db(7, 3.5);
    r.mutable_state()->set_horizon(3);
    terminal->on_report(r);
    terminal->on_report(report(151, false));
    ASSERT_EQ(port.watched.of(topic::slot).size(), 2U);
    const auto& m = port.watched.of(topic::slot)[0];
    EXPECT_EQ(m.slot(), 150);
    const auto& s = m.slot_sample();
    EXPECT_TRUE(s.locked());
    EXPECT_EQ(s.snr_db(7), 3.5F);
    EXPECT_EQ(s.predicted_snr_db(7), 17.5F);
    EXPECT_EQ(s.horizon(), 3U);
    EXPECT_EQ(s.bits_per_symbol()[0], 4);
    EXPECT_EQ(s.outcome()[0], 1);
    EXPECT_EQ(s.outcome()[4], 2);
    EXPECT_EQ(s.outcome()[5], 0);
    EXPECT_EQ(s.combined(), 1U << 4);
    const auto& unlocked = port.watched.of(topic::slot)[1].slot_sample();
    EXPECT_FALSE(unlocked.locked());
    EXPECT_EQ(unlocked.snr_db_size(), 0) << "a receiver without lock has measured nothing";
}

TEST_F(Terminal, TheReceiverIsAskedForItsDetailOnlyWhileSomebodyWatches) {
    run(150, 152);
    port.watched.want(topic::receiver);
    port.watched.rate = 150;
    run(153, 156);
    EXPECT_EQ(port.detail_every, std::vector<int>{150});
    port.watched.rate = 15;
    run(157, 159);
    port.watched.want(topic::receiver, false);
    run(160, 162);
    EXPECT_EQ(port.detail_every, (std::vector<int>{150, 15, 0}));
}

TEST_F(Terminal, TopicReceiverHasThePointsOfTheBinsInUseAndTheChannel) {
    port.watched.want(topic::receiver);
    auto r = with_frames(report(150));
    r.mutable_state()->set_cfo_hz(-12.5);
    r.mutable_state()->set_mode("locked");
    r.mutable_detail()->set_points(std::string(std::size_t{2} * 2 * 108, 'x'));
    for (int i = 0; i < 1000; ++i) r.mutable_detail()->add_channel(static_cast<float>(i));
    for (int b = 0; b < nof_bins; ++b) r.mutable_detail()->add_noise_dbfs(-60);
    for (int n = 0; n < fft_size; ++n) r.mutable_detail()->add_spectrum_dbfs(-float(n));
    terminal->on_report(r);
    ASSERT_EQ(port.watched.of(topic::receiver).size(), 1U);
    const auto& s = port.watched.of(topic::receiver)[0].receiver();
    EXPECT_EQ(s.points().size(), std::size_t{2} * 2 * 108);
    EXPECT_EQ(s.symbols_of_bin()[0], 108);
    EXPECT_EQ(s.symbols_of_bin()[1], 0);
    EXPECT_EQ(s.symbols_of_bin()[4], 108);
    EXPECT_EQ(s.bits_per_symbol()[4], 2);
    EXPECT_EQ(s.channel(999), 999.0F);
    EXPECT_EQ(s.noise_dbfs_size(), nof_bins);
    ASSERT_EQ(s.spectrum_dbfs_size(), fft_size);
    EXPECT_EQ(s.spectrum_dbfs(767), -767.0F);
    EXPECT_EQ(s.state().cfo_hz(), -12.5);
    EXPECT_EQ(s.state().mode(), "locked");
}

TEST_F(Terminal, ADetailOfAWrongSizeIsCountedAndNotPublished) {
    port.watched.want(topic::receiver);
    for (const int wrong : {0, 1, 2, 3}) {
        auto r = with_frames(report(150 + wrong));
        auto& d = *r.mutable_detail();
        d.set_points(std::string(std::size_t{wrong == 0 ? 3U : 4U} * 108, 'x'));
        for (int i = 0; i < (wrong == 1 ? 999 : 1000); ++i) d.add_channel(0);
        for (int b = 0; b < (wrong == 2 ? 26 : 25); ++b) d.add_noise_dbfs(0);
        for (int n = 0; n < (wrong == 3 ? 767 : 768); ++n) d.add_spectrum_dbfs(0);
        terminal->on_report(r);
    }
    EXPECT_EQ(port.dropped.size(), 4U);
    EXPECT_TRUE(port.watched.of(topic::receiver).empty());
    EXPECT_EQ(port.sent.size(), 4U) << "the link goes on";
}

TEST_F(Terminal, TopicFramesHasEveryFrameAsItWasReceived) {
    port.watched.want(topic::frames);
    terminal->on_report(report(150));  // without frames: no message
    terminal->on_report(with_frames(report(151)));
    terminal->on_report(with_frames(report(152)));
    run(153, 164);
    EXPECT_TRUE(port.watched.of(topic::frames).empty());
    run(165, 165);
    ASSERT_EQ(port.watched.of(topic::frames).size(), 1U);
    const auto& f = port.watched.of(topic::frames)[0].frames();
    ASSERT_EQ(f.slot_size(), 2);
    EXPECT_EQ(f.slot(0).air(), 151);
    EXPECT_EQ(f.slot(1).air(), 152);
    EXPECT_EQ(f.slot(0).grant().size(), std::size_t{grant_bytes});
    EXPECT_EQ(f.slot(0).frames(), 2U);
    ASSERT_EQ(f.bin().size(), 4U);
    EXPECT_EQ(f.sn(0), 77U);
    EXPECT_EQ(f.payload_bits(0), static_cast<unsigned>(frame_payload_bits(link_profile::radio, 4)));
    EXPECT_EQ(f.payload().front(), 'p');
    EXPECT_EQ(f.bin()[1], 4);
    EXPECT_EQ(f.outcome()[1], 2);
    EXPECT_EQ(f.combined()[1], 1);
    EXPECT_EQ(f.snr_db(1), 20.0F);
}

TEST_F(Terminal, FramesAndPacketsOfARunThatEndsBetweenTwoBatchesGoOutWhenTelemetryIsFlushed) {
    port.watched.want(topic::frames);
    port.watched.want(topic::ip);
    for (std::int64_t k = 150; k <= 157; ++k) {
        tun.give(ip_packet(40));
        terminal->on_report(with_frames(report(k)));
    }
    ASSERT_EQ(port.watched.of(topic::frames).size(), 1U) << "of slot 150";
    ASSERT_EQ(port.watched.of(topic::ip).size(), 1U);
    terminal->flush_telemetry();
    terminal->flush_telemetry();
    ASSERT_EQ(port.watched.of(topic::frames).size(), 2U);
    ASSERT_EQ(port.watched.of(topic::ip).size(), 2U);
    const auto& m = port.watched.of(topic::frames)[1];
    EXPECT_EQ(m.slot(), 157);
    ASSERT_EQ(m.frames().slot_size(), 7);
    EXPECT_EQ(m.frames().slot(6).air(), 157);
    EXPECT_EQ(port.watched.of(topic::ip)[1].ip().packet_size(), 7);
}

TEST_F(Terminal, TopicIpHasThePacketsOfTheUplinkWithTheTimeOfTheSlot) {
    port.watched.want(topic::ip);
    run(150, 150);
    EXPECT_TRUE(port.watched.of(topic::ip).empty());
    tun.give(ip_packet(100));
    tun.give(ip_packet(200));
    run(151, 165);
    ASSERT_EQ(port.watched.of(topic::ip).size(), 1U);
    const auto& batch = port.watched.of(topic::ip)[0].ip();
    ASSERT_EQ(batch.packet_size(), 2);
    EXPECT_EQ(batch.skipped(), 0U);
    const auto& p = batch.packet(1);
    EXPECT_FALSE(p.out());
    EXPECT_FALSE(p.downlink());
    EXPECT_FALSE(p.has_number());
    EXPECT_EQ(p.data().size(), 200U);
    EXPECT_EQ(p.time_ns(), slot_start_ns(slot(151)));
}
