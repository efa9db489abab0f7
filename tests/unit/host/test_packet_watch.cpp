// SPDX-License-Identifier: GPL-3.0-or-later
// The two halves of a packet's delay through both stations and the messages between them: when they
// are asked for, what is published, what is not believed.
#include <gtest/gtest.h>

#include <set>

#include "macd/base_station.h"
#include "macd/terminal_station.h"
#include "station/packet_reports.h"
#include "station_world.h"
#include "types/slot_time.h"

using namespace wip;
using namespace wip::host;

namespace {

constexpr std::int64_t start(std::int64_t s) { return slot_start_ns(slot(s)); }

// A cell of two stations: frames of the slots in `failing` fail on the radio between them.
class PacketWatch : public testing::Test {
protected:
    explicit PacketWatch(std::vector<std::string> set = {})
        : base(configuration("base", with(std::move(set))), *server.tun, at_base),
          terminal(configuration("terminal"), *user.tun, at_terminal) {}

    static std::vector<std::string> with(std::vector<std::string> set) {
        set.insert(set.end(), {"link.modulation=4", "link.bins=1", "link.allocation=static"});
        return set;
    }
    void run_until(std::int64_t end) {
        for (; next < end; ++next) {
            openwip::slot_link::SlotRequest request;
            request.set_air(next);
            base.on_request(request);
            carry_notes();
            if (next >= 2) receive(next - 2);
        }
    }
    // The slot has passed the terminal's receiver.
    void receive(std::int64_t air) {
        openwip::slot_link::SlotReport r;
        r.set_air(air);
        r.set_locked(true);
        r.set_grant_ok(true);
        for (const auto& plan : at_base.plans) {
            if (plan.air() != air) continue;
            r.set_grant(plan.grant());
            for (const auto& p : plan.payload()) {
                auto& bin = *r.add_bins();
                bin.set_bin(p.bin());
                bin.set_payload(p.payload());
                bin.set_outcome(failing.contains(air) ? openwip::slot_link::BAD
                                                      : openwip::slot_link::GOOD);
            }
        }
        for (int b = 0; b < nof_bins; ++b) {
            r.add_snr_db(20);
            r.add_predicted_snr_db(20);
        }
        terminal.on_report(r);
        auto message = at_terminal.last_uplink();
        if (!words_arrive) message.clear_packet_reports();
        const std::string m = message.SerializeAsString();
        base.on_peer({reinterpret_cast<const std::uint8_t*>(m.data()), m.size()});
    }
    void carry_notes() {
        for (const auto& m : at_base.sent) {
            if (m.empty()) continue;
            openwip::uplink::DownlinkControl note;
            note.ParseFromString(m);
            if (note.has_packet_watch()) watches.push_back(note.packet_watch());
            terminal.on_peer({reinterpret_cast<const std::uint8_t*>(m.data()), m.size()});
        }
        at_base.sent.clear();
    }
    std::vector<openwip::telemetry::PacketRecord> records() const {
        std::vector<openwip::telemetry::PacketRecord> all;
        for (const auto& m : at_base.watched.of(topic::packet))
            all.insert(all.end(), m.packets().packet().begin(), m.packets().packet().end());
        return all;
    }

    tun_pair server, user;
    station_port_spy at_base, at_terminal;
    base_station base;
    terminal_station terminal;
    std::int64_t next = 0;
    std::set<std::int64_t> failing;
    bool words_arrive = true;
    std::vector<std::uint64_t> watches;
};

}  // namespace

TEST_F(PacketWatch, NobodyListensNobodyIsAsked) {
    run_until(20);
    server.give(ip_packet(40));
    run_until(60);
    EXPECT_TRUE(watches.empty());
    EXPECT_FALSE(at_terminal.last_uplink().has_packet_reports());
    EXPECT_TRUE(records().empty());
}

TEST_F(PacketWatch, APacketThatIsReadAloneIsPublishedWithItsPartsAndTheirExactSum) {
    at_base.watched.want(topic::packet);
    run_until(40);
    EXPECT_EQ(watches, std::vector<std::uint64_t>{1});
    EXPECT_TRUE(at_terminal.last_uplink().has_packet_reports());
    server.give(ip_packet(40));  // the TUN is read when slot 40 is planned
    failing = {40, 43};
    run_until(80);
    EXPECT_EQ(user.take().size(), 40U);
    ASSERT_EQ(records().size(), 1U);
    const auto r = records()[0];
    EXPECT_EQ(r.number(), 0U);
    EXPECT_EQ(r.bytes(), 40U);
    EXPECT_EQ(r.protocol(), 17U);
    // The terminal's clock has passed slot 37 when slot 40 is planned.
    EXPECT_EQ(r.arrived_ns(), start(38));
    EXPECT_EQ(r.scheduling_ns(), start(40) - start(38));
    EXPECT_EQ(r.air_ns(), start(41) - start(40));
    EXPECT_EQ(r.retransmission_ns(), 4'000'000);
    ASSERT_EQ(r.each_retransmission_ns_size(), 2);
    EXPECT_EQ(r.each_retransmission_ns(0), 2'000'000);
    EXPECT_EQ(r.left_ns(), start(47));
    EXPECT_EQ(r.left_ns() - r.arrived_ns(), r.queue_ns() + r.scheduling_ns() + r.air_ns() +
                                                r.retransmission_ns() + r.reordering_ns());
    EXPECT_EQ(r.dropped(), "");
    EXPECT_EQ(at_base.watched.of(topic::packet).back().packets().skipped(), 0U);
}

class BehindAWire : public PacketWatch {
protected:
    BehindAWire() : PacketWatch({"to_base.delay_ms=4"}) {}
};
TEST_F(BehindAWire, ThePacketsRecordSaysHowLongItWasInTheWiredNetwork) {
    at_base.watched.want(topic::packet);
    run_until(40);
    server.give(ip_packet(40));
    run_until(80);
    ASSERT_EQ(records().size(), 1U);
    EXPECT_EQ(records()[0].wired_ns(), 4'000'000);
    EXPECT_EQ(records()[0].arrived_ns(), start(38 + 6));
}

TEST_F(PacketWatch, WhatTheTerminalsInterfaceRefusesIsADropWithTheKernelsReason) {
    at_base.watched.want(topic::packet);
    run_until(40);
    server.give(ip_packet(40));
    user.hang_up();
    run_until(80);
    ASSERT_EQ(records().size(), 1U);
    EXPECT_TRUE(records()[0].dropped().starts_with("tun_write_E")) << records()[0].dropped();
}

TEST_F(PacketWatch, WordsThatDidNotArriveAreSkippedPackets) {
    at_base.watched.want(topic::packet);
    run_until(40);
    words_arrive = false;
    for (int i = 0; i < 3; ++i) server.give(ip_packet(40));
    run_until(50);
    words_arrive = true;
    server.give(ip_packet(44));
    run_until(100);
    ASSERT_EQ(records().size(), 1U);
    EXPECT_EQ(records()[0].bytes(), 44U);
    EXPECT_EQ(records()[0].number(), 3U);
    EXPECT_EQ(records()[0].dropped(), "");
    EXPECT_EQ(at_base.watched.of(topic::packet).back().packets().skipped(), 3U);
}

TEST_F(PacketWatch, AWatchThatIsOverEndsTheWordsAndANewOneHasANumberOfItsOwn) {
    at_base.watched.want(topic::packet);
    run_until(40);
    at_base.watched.want(topic::packet, false);
    run_until(60);
    EXPECT_FALSE(at_terminal.last_uplink().has_packet_reports());
    server.give(ip_packet(40));
    run_until(80);
    EXPECT_TRUE(records().empty());
    at_base.watched.want(topic::frames);  // needs to know whose packets a frame holds
    run_until(100);
    EXPECT_EQ(watches, (std::vector<std::uint64_t>{1, 0, 2}));
    EXPECT_EQ(at_terminal.last_uplink().packet_reports().watch(), 2U);
    EXPECT_TRUE(records().empty());
}

TEST_F(PacketWatch, TheTerminalIsAskedAgainUntilItIsThere) {
    at_base.watched.want(topic::packet);
    at_base.peer_listens = false;
    run_until(10);
    EXPECT_TRUE(watches.empty());
    at_base.peer_listens = true;
    run_until(20);
    EXPECT_EQ(watches, std::vector<std::uint64_t>{1});
}

TEST_F(PacketWatch, WordsThatNoTerminalCouldSayAreDroppedAndCounted) {
    at_base.watched.want(topic::packet);
    run_until(40);
    openwip::uplink::PacketReports good;
    good.set_watch(1);
    auto& w = *good.add_report();
    w.set_complete(30);
    const auto refused = [&](auto&& spoil) {
        openwip::uplink::Uplink m;
        m.set_now(38);
        *m.mutable_packet_reports() = good;
        spoil(*m.mutable_packet_reports());
        const auto before = at_base.dropped.size();
        const std::string bytes = m.SerializeAsString();
        base.on_peer({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
        return at_base.dropped.size() > before;
    };
    using words = openwip::uplink::PacketReports;
    EXPECT_FALSE(refused([](words&) {}));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_sn(65536); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_last_frame(1 << 20); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_nibble(216); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_end(4); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_bytes(65576); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_complete(39); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_complete(-1); }));
    EXPECT_TRUE(refused([](words& x) { x.mutable_report(0)->set_error(-5); }));
    EXPECT_TRUE(refused([](words& x) { x.set_decided_before(65536); }));
    EXPECT_FALSE(refused([](words& x) {  // a report of another watch is not examined
        x.set_watch(7);
        x.set_decided_before(65536);
    }));
}

TEST_F(PacketWatch, ARunThatEndsBetweenTwoBatchesHasAllItsRecordsFramesAndPacketsWhenItIsFlushed) {
    for (const topic t : {topic::packet, topic::frames, topic::ip}) at_base.watched.want(t);
    run_until(46);
    server.give(ip_packet(40));
    run_until(59);  // slot 58 was the last one: the batch would go with slot 60
    ASSERT_EQ(user.take().size(), 40U);
    EXPECT_TRUE(records().empty());
    EXPECT_TRUE(at_base.watched.of(topic::frames).empty());
    EXPECT_TRUE(at_base.watched.of(topic::ip).empty());
    base.flush_telemetry();
    base.flush_telemetry();
    ASSERT_EQ(records().size(), 1U);
    EXPECT_EQ(at_base.watched.of(topic::packet)[0].slot(), 58);
    ASSERT_EQ(at_base.watched.of(topic::frames).size(), 1U);
    EXPECT_GT(at_base.watched.of(topic::frames)[0].frames().bin().size(), 0U);
    ASSERT_EQ(at_base.watched.of(topic::ip).size(), 1U);
    EXPECT_EQ(at_base.watched.of(topic::ip)[0].ip().packet_size(), 1);
}

TEST(PacketTopic, TheRateIsBoundedAndWhatGoesBeyondIsCounted) {
    telemetry_spy out;
    out.want(topic::packet);
    packet_topic t(100);
    t.begin();
    packet_record r;
    for (int i = 0; i < 250; ++i, ++r.number) t.add(r, 3);
    t.slot_done(slot(15), 7, out);
    ASSERT_EQ(out.of(topic::packet).size(), 1U);
    const auto& first = out.of(topic::packet)[0].packets();
    EXPECT_EQ(first.packet_size(), 100);  // the records of a second at once
    EXPECT_EQ(first.skipped(), 157U);
    EXPECT_EQ(first.packet(99).number(), 99U);
    EXPECT_EQ(first.packet(99).user(), 3U);
    // From then on there are a hundred a second: one in 15 slots.
    for (std::int64_t s = 16; s <= 15 + 1500; ++s) {
        t.add(r, 0);
        t.slot_done(slot(s), 7, out);
    }
    int published = 0;
    for (const auto& m : out.of(topic::packet)) published += m.packets().packet_size();
    EXPECT_NEAR(published, 200, 1);
    EXPECT_EQ(
        static_cast<std::uint64_t>(published) + out.of(topic::packet).back().packets().skipped(),
        250U + 7 + 1500);
}

TEST(PacketTopic, NothingNewNothingPublished) {
    telemetry_spy out;
    out.want(topic::packet);
    packet_topic t(100);
    t.begin();
    for (std::int64_t s = 0; s < 100; ++s) t.slot_done(slot(s), 0, out);
    EXPECT_TRUE(out.of(topic::packet).empty());
    t.slot_done(slot(105), 2, out);  // a new number of skipped packets has to be published
    ASSERT_EQ(out.of(topic::packet).size(), 1U);
    EXPECT_EQ(out.of(topic::packet)[0].packets().skipped(), 2U);
}
