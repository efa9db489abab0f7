// SPDX-License-Identifier: GPL-3.0-or-later
#include "reassembly_link.h"

namespace wip::test {
namespace {

TEST(Reassembler, PacketsOfAllSizesComeOutAsTheyWentIn) {
    for (const bool packing : {true, false})
        for (int k = 1; k <= 8; ++k) {
            link l({}, packing);
            for (std::size_t n = 20; n < 150; ++n) l.give(ipv4(n));
            for (std::size_t n = 48; n < 100; ++n) l.give(ipv6_udp(n));
            l.cut_all(k);
            l.bring_all_but({});
            EXPECT_EQ(l.got, l.sent);
            EXPECT_EQ(l.assembly.counts().boundaries_lost, 0U);
        }
}

TEST(Reassembler, TheLargestPacketsOfBothVersionsPass) {
    link l;
    l.give(ipv4(65535));
    l.give(ipv6_udp(65575));
    l.give(ipv4(20));
    l.cut_all(7);
    l.bring_all_but({});
    EXPECT_EQ(l.got, l.sent);
}

TEST(Reassembler, InOrderMeansThatAllWaitForTheMissingFrame) {
    link l;
    l.give_packets(5, 100);
    l.cut_all();  // 500 bytes in ten frames
    l.bring_all_but({3});
    EXPECT_EQ(l.got.size(), 1U);
    l.bring(3);
    EXPECT_EQ(l.got, l.sent);
}

TEST(Reassembler, AsCompletedThoseBehindAMissingPieceGoAhead) {
    link l(as_completed());
    l.give_packets(5, 200);
    l.cut_all();        // packet i starts at byte 200 i; frame 5 is bytes 270..323: inside packet 1
    l.bring(5, false);  // the frame failed, but its length is known
    l.bring_all_but({5});
    EXPECT_EQ(l.got.size(), 4U);
    l.bring(5);
    ASSERT_EQ(l.got.size(), 5U);
    EXPECT_EQ(l.got[4], l.sent[1]);
}

TEST(Reassembler, AsCompletedAMissingHeaderHoldsBackNoPacketBehindIt) {
    link l(as_completed());
    l.give_packets(6, 200);
    l.cut_all();
    // Frame 7 is bytes 378..431: the end of packet 1 and the header of packet 2.
    l.bring_all_but({7});
    ASSERT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.got[1], l.sent[3]);
    l.bring(7);
    EXPECT_EQ(l.got.size(), 6U);
    EXPECT_TRUE(std::ranges::is_permutation(l.got, l.sent));
}

TEST(Reassembler, AsCompletedTheInnerPacketOfATunnelIsNotTakenForOne) {
    link l(as_completed());
    auto outer = ipv4(300, 0x77);
    const auto inner = ipv4(280, 0x55);
    std::ranges::copy(inner, outer.begin() + 20);
    l.give(ipv4(40, 1));
    l.give(outer);  // its header in frame 0 or 1 ...
    l.give(ipv4(100, 2));
    l.give(ipv4(100, 3));
    l.cut_all(1);  // 13.5 bytes a frame: frames 3 and 4 hold the outer header only
    l.bring_all_but({3});
    for (const auto& p : l.got) EXPECT_NE(p, inner);
    l.bring(3);
    EXPECT_EQ(l.got.size(), 4U);
    for (const auto& p : l.got) EXPECT_NE(p, inner);
}

TEST(Reassembler, ALostFrameOfKnownLengthCostsOnlyThePacketThatItTouches) {
    link l;
    l.give_packets(5, 200);
    l.cut_all();
    l.bring(5, false);  // inside packet 1: its length is known
    l.bring_all_but({5});
    EXPECT_EQ(l.got.size(), 1U);
    l.lose_below(l.last());
    EXPECT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
    EXPECT_EQ(l.assembly.counts().lost_bytes, 200U);
    EXPECT_EQ(l.assembly.counts().boundaries_lost, 0U);
}

TEST(Reassembler, WithoutPackingTheNextFrameStartIsTheNextPacket) {
    link l({}, false);
    l.give_packets(4, 100);
    l.cut_all();  // two frames a packet
    l.bring_all_but({2});
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_EQ(l.got[1], l.sent[2]);
}

TEST(Reassembler, DamagedFramesAreDeliveredWhenTheHeaderIsIntact) {
    link l(corrupt());
    l.give_packets(5, 200);
    l.cut_all();
    l.bring_all_but({5});
    l.frames[5].payload[10] ^= 0xff;
    l.bring(5, false);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 5U);
    EXPECT_TRUE(l.marks[1]);
    EXPECT_NE(l.got[1], l.sent[1]);
    EXPECT_EQ(l.got[1].size(), 200U);
    EXPECT_EQ(l.got[4], l.sent[4]);
    EXPECT_EQ(l.assembly.counts().damaged_packets, 1U);
    EXPECT_EQ(l.assembly.counts().lost_packets, 0U);
}

TEST(Reassembler, WithoutItsBitsALostFrameIsLostAlsoWhenDamageIsAllowed) {
    link l(corrupt());
    l.give_packets(3, 200);
    l.cut_all();
    l.bring_all_but({5});
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
    EXPECT_EQ(l.assembly.counts().damaged_packets, 0U);
}

// The first 14 bytes of the second packet's header lie in a damaged frame, the others in a lost
// one.
TEST(Reassembler, ADamagedHeaderThatRunsIntoALostFrameCountsForNothing) {
    link l(corrupt());
    l.give(ipv4(94));
    l.give_packets(3, 200);
    l.cut_all();
    l.bring_all_but({1, 2});
    l.frames[1].payload[42] ^= 0xff;  // the length
    l.bring(1, false);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_TRUE(l.marks[0]);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.assembly.counts().boundaries_lost, 1U);
    EXPECT_EQ(l.assembly.counts().lost_packets, 0U);
    EXPECT_EQ(l.assembly.counts().lost_bytes, 0U);
}

// Every single frame missing, then every pair, lost for good: what does not touch them arrives.
TEST(Reassembler, EveryOneAndEveryTwoLostFramesOfThirty) {
    for (const bool in_order : {true, false})
        for (int a = 0; a < 30; ++a)
            for (int b = a; b < 30; ++b) {
                reassembler_config c;
                c.in_order = in_order;
                link l(c);
                std::size_t total = 0;
                for (int i = 0; i < 9; ++i) {
                    l.give(ipv4(180, static_cast<std::uint8_t>(i)));
                    total += 180;
                }
                l.cut_all();
                ASSERT_EQ(l.frames.size(), 30U);
                l.bring_all_but({a, b});
                l.lose_below(l.last());
                std::size_t expected = 0;
                for (int i = 0; i < 9; ++i) {
                    const int first = i * 180 / 54, last = (i * 180 + 179) / 54;
                    const bool hit = (a >= first && a <= last) || (b >= first && b <= last);
                    if (hit) continue;
                    ++expected;
                    ASSERT_NE(std::ranges::find(l.got, l.sent[static_cast<std::size_t>(i)]),
                              l.got.end())
                        << "packet " << i << " without frames " << a << ", " << b;
                }
                ASSERT_EQ(l.got.size(), expected);
            }
}

// Every order of arrival of six frames.
TEST(Reassembler, EveryOrderOfArrivalDeliversEverythingOnce) {
    for (const bool in_order : {true, false}) {
        std::vector<frame_sn> order{0, 1, 2, 3, 4, 5};
        do {
            reassembler_config c;
            c.in_order = in_order;
            link l(c);
            l.give_packets(6, 54);
            l.cut_all();
            for (const frame_sn sn : order) l.bring(sn);
            if (in_order) {
                ASSERT_EQ(l.got, l.sent);
            } else {
                ASSERT_TRUE(std::ranges::is_permutation(l.got, l.sent));
            }
            ASSERT_EQ(l.assembly.frames().first(), 6);
        } while (std::ranges::next_permutation(order).found);
    }
}

TEST(Reassembler, ARestartDeliversWhatIsCompleteAndCountsTheRest) {
    link l;
    l.give_packets(3, 200);
    l.cut_all();
    l.bring(5, false);
    l.bring_all_but({5});
    l.assembly.restart(100);
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.assembly.counts().lost_packets, 0U);
    EXPECT_EQ(l.assembly.counts().cut_off_packets, 1U);
    EXPECT_EQ(l.assembly.counts().cut_off_bytes, 200U);
    EXPECT_EQ(l.assembly.frames().first(), 100);
}

}  // namespace
}  // namespace wip::test
