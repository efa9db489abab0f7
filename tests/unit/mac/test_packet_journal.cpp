// SPDX-License-Identifier: GPL-3.0-or-later
// Known losses give known parts. Profile wipemu at 4 bits/symbol: 54 bytes a frame, one bin unless
// said otherwise, so that a packet of 54 bytes is one frame and goes in one slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "link/base_station_mac.h"
#include "link/terminal_mac.h"
#include "packets.h"
#include "types/slot_time.h"

namespace wip {
namespace {

struct kept_record {
    packet_record r;
    std::vector<std::uint8_t> retransmissions;
    std::vector<std::int64_t> each;
};

link_config one_bin() {
    link_config c;
    c.profile = link_profile::wipemu;
    c.modulation = 4;
    c.bins = 1;
    c.allocation = allocation_kind::fixed;
    return c;
}

class Cell {
public:
    explicit Cell(const link_config& c = one_bin())
        : base(c),
          terminal(c,
                   [this](std::span<const std::uint8_t>, bool) {
                       if (refuse != 0) reports.refuse_last(refuse);
                   }),
          journal([this](const packet_record& r) {
              records.push_back(
                  {r,
                   {r.retransmissions.begin(), r.retransmissions.end()},
                   {r.each_retransmission_ns.begin(), r.each_retransmission_ns.end()}});
              const auto& s = records.back();
              EXPECT_EQ(s.r.parts.sum(), s.r.left_ns - s.r.arrived_ns) << "packet " << s.r.number;
          }) {
        terminal.report_to(&reports);
        base.follow_packets(&journal);
        run_until(200);  // the terminal has sent its first report by then
    }

    static std::int64_t start(std::int64_t s) { return slot_start_ns(slot(s)); }
    void give(std::size_t bytes, std::int64_t at_ns) {
        journal.set_now(at_ns);
        base.on_sdu(test::ipv4(bytes), slot(now));
    }
    void lose(std::int64_t s, int bin) { lost.insert({s, bin}); }
    void run_until(std::int64_t end) {
        for (; now < end; ++now) {
            journal.set_now(start(now));
            const slot_plan plan = base.plan(slot(now));
            slot_report r;
            r.air = plan.air;
            r.locked = r.grant_ok = true;
            r.grant = plan.grant;
            r.predicted_snr_db.fill(20.0F);
            for (std::size_t b = 0; b < nof_bins; ++b) {
                if (plan.grant.bins[b].bits_per_symbol == 0) continue;
                const bool bad = lost.contains({now, static_cast<int>(b)});
                r.outcome[b] = bad ? frame_outcome::bad : frame_outcome::good;
                r.payload[b] = plan.payload[b];
            }
            base.on_feedback(terminal.on_slot(r));
            if (words_arrive)
                journal.on_reports(reports.reports(), reports.count(), terminal.decided_before(),
                                   slot(now));
            reports.clear();
        }
    }
    const kept_record& record(std::size_t i) { return records.at(i); }

    std::int64_t now = 150;
    bool words_arrive = true;
    int refuse = 0;
    std::set<std::pair<std::int64_t, int>> lost;
    std::vector<kept_record> records;
    base_station_mac base;
    delivery_log reports{1024};
    terminal_mac terminal;
    packet_journal journal;
};

constexpr std::int64_t ms = 1'000'000;

TEST(PacketJournal, APacketAloneWaitsForItsSlotAndTakesOne) {
    Cell c;
    c.give(54, c.start(199) + 12'345);
    c.run_until(210);
    ASSERT_EQ(c.records.size(), 1U);
    const auto& r = c.record(0).r;
    EXPECT_EQ(r.number, 0U);
    EXPECT_EQ(r.bytes, 54U);
    EXPECT_EQ(r.flow.protocol, 17);
    EXPECT_EQ(r.arrived_ns, c.start(199) + 12'345);
    EXPECT_EQ(r.left_ns, c.start(201));
    EXPECT_EQ(r.parts, (packet_parts{0, c.start(200) - c.start(199) - 12'345,
                                     c.start(201) - c.start(200), 0, 0}));
    EXPECT_EQ(c.record(0).retransmissions, std::vector<std::uint8_t>{0});
    EXPECT_STREQ(r.dropped, "");
}

TEST(PacketJournal, AFrameLostTwiceTakesExactlyTwoLoopsMore) {
    Cell c;
    c.lose(200, 0);
    c.lose(203, 0);
    c.give(54, c.start(200));
    c.run_until(220);
    ASSERT_EQ(c.records.size(), 1U);
    const auto& r = c.record(0);
    EXPECT_EQ(r.r.parts.retransmission, 4 * ms);  // two retransmission delays of 2 ms
    EXPECT_EQ(r.r.parts.reordering, 0);
    EXPECT_EQ(r.r.left_ns, c.start(207));
    EXPECT_EQ(r.retransmissions, std::vector<std::uint8_t>{2});
    EXPECT_EQ(r.each, (std::vector<std::int64_t>{2 * ms, 2 * ms}));
}

TEST(PacketJournal, ALongLoopIsWhatItIsSetTo) {
    link_config k = one_bin();
    k.retransmission_delay_slots = 30;
    Cell c(k);
    c.lose(200, 0);
    c.give(54, c.start(200));
    c.run_until(260);
    ASSERT_EQ(c.records.size(), 1U);
    EXPECT_EQ(c.record(0).r.parts.retransmission, 20 * ms);
}

TEST(PacketJournal, WhoWaitsBehindALostPacketIsReordered) {
    Cell c;
    c.lose(200, 0);
    c.give(54, c.start(200));
    c.give(54, c.start(200));
    c.run_until(220);
    ASSERT_EQ(c.records.size(), 2U);
    const auto& first = c.record(0).r;
    const auto& second = c.record(1).r;
    EXPECT_EQ(first.number, 0U);
    EXPECT_EQ(first.parts.retransmission, 2 * ms);
    // The second one was first in the queue when slot 200 was planned, went in slot 201, was
    // complete at its end and waited until slot 203 brought the other.
    EXPECT_EQ(second.parts,
              (packet_parts{0, c.start(201) - c.start(200), c.start(202) - c.start(201), 0,
                            c.start(204) - c.start(202)}));
    EXPECT_EQ(c.record(1).retransmissions, std::vector<std::uint8_t>{0});
}

TEST(PacketJournal, AsCompletedNobodyWaits) {
    link_config k = one_bin();
    k.in_order = false;
    k.packing = false;
    Cell c(k);
    c.lose(201, 0);
    for (int i = 0; i < 4; ++i) c.give(54, c.start(200));
    c.run_until(220);
    ASSERT_EQ(c.records.size(), 4U);
    for (const auto& r : c.records) EXPECT_EQ(r.r.parts.reordering, 0) << "packet " << r.r.number;
    EXPECT_EQ(c.record(1).r.number, 2U);
}

TEST(PacketJournal, ThePartBehindOthersIsQueue) {
    Cell c;
    for (int i = 0; i < 5; ++i) c.give(108, c.start(200) - 1000 * (5 - i));  // two slots each
    c.run_until(230);
    ASSERT_EQ(c.records.size(), 5U);
    for (int i = 0; i < 5; ++i) {
        const auto& r = c.record(static_cast<std::size_t>(i)).r;
        // First in the queue when the last half of the one before was planned, in 199 + 2 i.
        const std::int64_t head = i == 0 ? r.arrived_ns : c.start(199 + 2 * i);
        EXPECT_EQ(r.parts.queue, head - r.arrived_ns) << i;
        EXPECT_EQ(r.parts.scheduling, c.start(201 + 2 * i) - head) << i;
        EXPECT_EQ(c.record(static_cast<std::size_t>(i)).retransmissions.size(), 2U);
    }
}

TEST(PacketJournal, TheFrameThatComesLastDecides) {
    link_config k = one_bin();
    k.bins = 3;
    Cell c(k);
    c.lose(200, 1);  // loses the middle one of three frames, three times
    c.lose(203, 0);
    c.lose(203, 1);
    c.lose(203, 2);
    c.lose(206, 0);
    c.lose(206, 1);
    c.lose(206, 2);
    c.give(162, c.start(200));
    c.run_until(230);
    ASSERT_EQ(c.records.size(), 1U);
    EXPECT_EQ(c.record(0).retransmissions, (std::vector<std::uint8_t>{0, 3, 0}));
    EXPECT_EQ(c.record(0).each, (std::vector<std::int64_t>{2 * ms, 2 * ms, 2 * ms}));
}

TEST(PacketJournal, RetransmissionsThatAreForgottenBeforeThePacketLeavesAreOneSum) {
    link_config k = one_bin();
    k.bins = nof_bins;
    k.retransmission_delay_slots = 48;
    k.queue_packets = 2000;
    Cell c(k);
    // Only the second of the frames of 48 slots arrives, at its first retransmission; its packet
    // waits until the first one's is dropped, after 30 retransmissions of each.
    for (std::int64_t s = 200; s < 200 + 31 * 48; ++s)
        for (int b = 0; b < nof_bins; ++b)
            if (s != 248 || b != 1) c.lose(s, b);
    for (int i = 0; i < 48 * nof_bins; ++i) c.give(54, c.start(200));
    c.run_until(200 + 33 * 48);
    const auto r = std::ranges::find_if(
        c.records, [](const auto& x) { return std::string(x.r.dropped).empty(); });
    ASSERT_NE(r, c.records.end());
    EXPECT_EQ(r->r.parts.retransmission, 32 * ms);
    EXPECT_GT(r->r.parts.reordering, 900 * ms);
    EXPECT_EQ(r->each, std::vector<std::int64_t>{32 * ms});
}

TEST(PacketJournal, AFrameGivenUpDropsItsPacketWithTheReason) {
    link_config k = one_bin();
    k.max_retransmissions = 1;
    Cell c(k);
    c.lose(200, 0);
    c.lose(203, 0);
    c.give(54, c.start(200));
    c.run_until(230);
    ASSERT_EQ(c.records.size(), 1U);
    const auto& r = c.record(0).r;
    EXPECT_STREQ(r.dropped, "retransmissions_exceeded");
    EXPECT_EQ(r.parts.air, c.start(201) - c.start(200));
    EXPECT_EQ(r.parts.reordering, 0);
    // Failed for good when slot 203 is resolved in plan(206); the grant of 206 tells the terminal.
    EXPECT_EQ(r.left_ns, c.start(207));
    EXPECT_EQ(c.journal.count().open(), 0U);
}

TEST(PacketJournal, RefusedPacketsAreRecordsAtOnce) {
    link_config k = one_bin();
    k.queue_packets = 2;
    Cell c(k);
    for (int i = 0; i < 3; ++i) c.give(54, c.start(200) + i);
    auto broken = test::ipv4(54);
    broken[10] ^= 1;
    c.base.on_sdu(broken, slot(200));
    ASSERT_EQ(c.records.size(), 2U);
    EXPECT_STREQ(c.record(0).r.dropped, "queue_full");
    EXPECT_EQ(c.record(0).r.number, 2U);
    EXPECT_EQ(c.record(0).r.arrived_ns, c.start(200) + 2);
    EXPECT_EQ(c.record(0).r.parts.sum(), 0);
    EXPECT_STREQ(c.record(1).r.dropped, "not_ip");
    EXPECT_EQ(c.record(1).r.number, 3U);
}

TEST(PacketJournal, AnInterfaceThatRefusesIsADrop) {
    Cell c;
    c.refuse = 5;
    c.give(54, c.start(200));
    c.run_until(210);
    ASSERT_EQ(c.records.size(), 1U);
    EXPECT_STREQ(c.record(0).r.dropped, "tun_write");
    EXPECT_EQ(c.record(0).r.refused, 5);
    EXPECT_EQ(c.record(0).r.left_ns, c.start(201));
}

TEST(PacketJournal, LostWordsAreSkippedPacketsAndNoFalseDrops) {
    Cell c;
    c.give(54, c.start(200));
    c.run_until(203);
    c.words_arrive = false;
    for (int i = 0; i < 3; ++i) c.give(54, c.start(203));
    c.run_until(210);
    c.words_arrive = true;
    c.give(54, c.start(210));
    c.run_until(220);
    const auto& n = c.journal.count();
    EXPECT_EQ(n.in, 5U);
    EXPECT_EQ(n.skipped, 3U);
    EXPECT_EQ(n.recorded, 2U);
    ASSERT_EQ(c.records.size(), 2U);
    EXPECT_STREQ(c.record(1).r.dropped, "");
    EXPECT_EQ(c.record(1).r.number, 4U);
}

TEST(PacketJournal, ItBeginsAmongPacketsThatItDoesNotKnow) {
    Cell c;
    c.base.follow_packets(nullptr);
    c.run_until(205);
    for (int i = 0; i < 3; ++i) c.give(100, c.start(205));  // frames hold parts of two packets
    c.run_until(207);
    EXPECT_TRUE(c.records.empty());
    c.base.follow_packets(&c.journal);
    c.give(100, c.start(207));
    c.run_until(230);
    ASSERT_EQ(c.records.size(), 1U);
    EXPECT_EQ(c.record(0).r.number, 3U);
    // 400 bytes of four packets are eight frames, in slots 205 to 212.
    EXPECT_EQ(c.record(0).r.left_ns, c.start(213));
    EXPECT_GT(c.record(0).r.parts.queue, 0);
    EXPECT_EQ(c.journal.count().unmatched, 2U);  // the other one was there before
}

TEST(PacketJournal, AFrameSaysWhosePacketsItHolds) {
    link_config k = one_bin();
    k.bins = 3;
    Cell c(k);
    for (int i = 0; i < 3; ++i) c.give(40, c.start(200));  // 120 bytes in three frames of 54
    c.run_until(201);
    const auto packets = [&](wire_sn sn) {
        std::vector<std::uint64_t> n;
        c.journal.packets_in(sn, [&](std::uint64_t number) { n.push_back(number); });
        return n;
    };
    EXPECT_EQ(packets(0), (std::vector<std::uint64_t>{0, 1}));
    EXPECT_EQ(packets(1), (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(packets(2), (std::vector<std::uint64_t>{2}));
    EXPECT_TRUE(packets(3).empty());
}

TEST(PacketJournal, SnsThatWrapAreFollowed) {
    link_config k = one_bin();
    k.bins = 25;
    k.queue_packets = 1000;
    Cell c(k);
    // 70000 frames: the wire's SN wraps.
    std::uint64_t given = 0;
    for (std::int64_t s = 200; s < 3000; ++s) {
        for (int i = 0; i < 25; ++i, ++given) c.give(54, c.start(s));
        if (s % 97 == 0) c.lose(s, 3);
        c.run_until(s + 1);
    }
    c.run_until(3100);
    EXPECT_EQ(c.records.size(), given);
    EXPECT_EQ(c.journal.count().unmatched, 0U);
    for (const auto& r : c.records) ASSERT_STREQ(r.r.dropped, "");
}

TEST(PacketJournal, WordsThatFitNothingAreCounted) {
    Cell c;
    c.give(54, c.start(200));
    std::vector<packet_report> w(3);
    w[0].sn = 4711;
    w[1].sn = 0;
    w[1].nibble = 7;
    w[2].sn = 0;
    w[2].bytes = 55;
    c.run_until(200);
    c.journal.on_reports(w, c.reports.count() + 3, 0, slot(200));
    EXPECT_EQ(c.journal.count().unmatched, 3U);
    EXPECT_EQ(c.journal.count().open(), 1U);
}

}  // namespace
}  // namespace wip
