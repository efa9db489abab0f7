// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>

#include "packets.h"
#include "rlc/reassembler.h"
#include "rlc/segmenter.h"

namespace wip {
namespace {

// A sender and a receiver of frames at k = 4 (profile wipemu: 54 bytes a frame), with verbs.
class link {
public:
    explicit link(reassembler_config c = {})
        : config(with_profile(c)),
          queue(config.packing, 1000),
          assembly(config, [this](std::span<const std::uint8_t> p, bool damaged) {
              got.push_back({p.begin(), p.end()});
              marks.push_back(damaged);
          }) {}

    void give(const std::vector<std::uint8_t>& packet) {
        ASSERT_TRUE(queue.push(packet));
        sent.push_back(packet);
    }
    void cut_all(int k = 4) {
        while (!queue.empty()) {
            frame f{k, std::vector<std::uint8_t>(
                           static_cast<std::size_t>(frame_payload_bytes(config.profile, k)))};
            queue.take(frame_payload_nibbles(config.profile, k), f.payload);
            frames.push_back(f);
        }
        assembly.frames().extend(static_cast<frame_sn>(frames.size()));
    }
    void put(frame_sn sn, bool good = true) {
        const frame& f = frames[static_cast<std::size_t>(sn)];
        assembly.frames().put({sn, f.k, true, 0, true}, good, f.payload);
    }
    void bring(frame_sn sn, bool good = true) {
        put(sn, good);
        assembly.advance();
    }
    void bring_all_but(std::vector<frame_sn> left_out) {
        for (frame_sn sn = 0; sn < static_cast<frame_sn>(frames.size()); ++sn)
            if (std::ranges::find(left_out, sn) == left_out.end()) bring(sn);
    }
    void lose_below(frame_sn sn) {
        assembly.frames().raise_edge(sn);
        assembly.advance();
    }
    frame_sn last() const { return static_cast<frame_sn>(frames.size()); }

    struct frame {
        int k;
        std::vector<std::uint8_t> payload;
    };
    static reassembler_config with_profile(reassembler_config c) {
        c.profile = link_profile::wipemu;
        return c;
    }
    reassembler_config config;
    segmenter queue;
    reassembler assembly;
    std::vector<std::vector<std::uint8_t>> sent, got;
    std::vector<bool> marks;
    std::vector<frame> frames;
};

reassembler_config as_completed() {
    reassembler_config c;
    c.in_order = false;
    return c;
}
reassembler_config corrupt() {
    reassembler_config c;
    c.deliver_corrupt = true;
    return c;
}

TEST(Reassembler, PacketsOfAllSizesComeOutAsTheyWentIn) {
    for (const bool packing : {true, false})
        for (int k = 1; k <= 8; ++k) {
            reassembler_config c;
            c.packing = packing;
            link l(c);
            for (std::size_t n = 20; n < 150; ++n) l.give(test::ipv4(n));
            for (std::size_t n = 48; n < 100; ++n) l.give(test::ipv6_udp(n));
            l.cut_all(k);
            l.bring_all_but({});
            EXPECT_EQ(l.got, l.sent);
            EXPECT_EQ(l.assembly.counts().searches, 0U);
        }
}

TEST(Reassembler, TheLargestPacketsOfBothVersionsPass) {
    link l;
    l.give(test::ipv4(65535));
    l.give(test::ipv6_udp(65575));
    l.give(test::ipv4(20));
    l.cut_all(7);
    l.bring_all_but({});
    EXPECT_EQ(l.got, l.sent);
}

TEST(Reassembler, InOrderMeansThatAllWaitForTheMissingFrame) {
    link l;
    for (int i = 0; i < 5; ++i) l.give(test::ipv4(100, static_cast<std::uint8_t>(i)));
    l.cut_all();  // 500 bytes in ten frames
    l.bring_all_but({3});
    EXPECT_EQ(l.got.size(), 1U);
    l.bring(3);
    EXPECT_EQ(l.got, l.sent);
}

TEST(Reassembler, AsCompletedThoseBehindAMissingPieceGoAhead) {
    link l(as_completed());
    for (int i = 0; i < 5; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();        // packet i starts at byte 200 i; frame 5 is bytes 270..323: inside packet 1
    l.bring(5, false);  // failed, so its length is known
    l.bring_all_but({5});
    EXPECT_EQ(l.got.size(), 4U);
    l.bring(5);
    ASSERT_EQ(l.got.size(), 5U);
    EXPECT_EQ(l.got[4], l.sent[1]);
}

TEST(Reassembler, AsCompletedAMissingHeaderHoldsBackOnlyThePacketBehindIt) {
    link l(as_completed());
    for (int i = 0; i < 6; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    // Frame 7 is bytes 378..431: the end of packet 1 and the header of packet 2. Packet 3 is the
    // first one found by search: it waits, the ones behind it do not.
    l.bring_all_but({7});
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_EQ(l.got[1], l.sent[4]);
    l.bring(7);
    EXPECT_EQ(l.got.size(), 6U);
    EXPECT_TRUE(std::ranges::is_permutation(l.got, l.sent));
}

TEST(Reassembler, AsCompletedTheInnerPacketOfATunnelIsNotTakenForOne) {
    link l(as_completed());
    auto outer = test::ipv4(300, 0x77);
    const auto inner = test::ipv4(280, 0x55);
    std::ranges::copy(inner, outer.begin() + 20);
    l.give(test::ipv4(40, 1));
    l.give(outer);  // its header in frame 0 or 1 ...
    l.give(test::ipv4(100, 2));
    l.give(test::ipv4(100, 3));
    l.cut_all(1);  // 13.5 bytes a frame: frames 3 and 4 hold the outer header only
    l.bring_all_but({3});
    for (const auto& p : l.got) EXPECT_NE(p, inner);
    l.bring(3);
    EXPECT_EQ(l.got.size(), 4U);
    for (const auto& p : l.got) EXPECT_NE(p, inner);
}

TEST(Reassembler, ALostFrameOfKnownLengthCostsOnlyThePacketThatItTouches) {
    link l;
    for (int i = 0; i < 5; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring(5, false);  // inside packet 1: its length is known
    l.bring_all_but({5});
    EXPECT_EQ(l.got.size(), 1U);
    l.lose_below(l.last());
    EXPECT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
    EXPECT_EQ(l.assembly.counts().lost_bytes, 200U);
    EXPECT_EQ(l.assembly.counts().searches, 0U);
}

TEST(Reassembler, AfterALostHeaderTheNextPacketIsFoundByItsChecksum) {
    for (const bool v6 : {false, true}) {
        link l;
        for (int i = 0; i < 6; ++i)
            l.give(v6 ? test::ipv6_udp(200, static_cast<std::uint8_t>(i))
                      : test::ipv4(200, static_cast<std::uint8_t>(i)));
        l.cut_all();
        l.bring_all_but({7});
        EXPECT_EQ(l.got.size(), 1U);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 4U);
        EXPECT_EQ(l.got[1], l.sent[3]);
        EXPECT_EQ(l.got[3], l.sent[5]);
        EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
        EXPECT_EQ(l.assembly.counts().searches, 1U);
    }
}

// The data before the last packet looks like the start of headers of 60 bytes, which would end
// beyond the last frame.
TEST(Reassembler, TheLastPacketIsFoundThoughTheDataBeforeItMayBeAHeaderThatIsNotThereYet) {
    link l;
    l.give(test::ipv4(100));
    l.give(test::ipv4(190, 0x4f));
    l.give(test::ipv4(30));
    l.cut_all();
    l.bring_all_but({1});  // with the second header; bytes 320 .. 323 of the last one are padding
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 1U);
    EXPECT_EQ(l.got[0], l.sent[2]);
}

TEST(Reassembler, AHeaderInTheDataIsNotTakenForOneUnlessWhatFollowsConfirmsIt) {
    link l;
    auto quoting = test::ipv4(400, 0x11);
    const auto quoted = test::ipv4(120, 0x22);
    std::copy(quoted.begin(), quoted.begin() + 28, quoting.begin() + 200);  // as ICMP errors do
    l.give(test::ipv4(100, 0));
    l.give(quoting);
    l.give(test::ipv4(100, 3));
    l.give(test::ipv4(100, 4));
    l.cut_all();
    l.bring_all_but({1});  // the header of `quoting`
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[0], l.sent[2]);
    EXPECT_EQ(l.got[1], l.sent[3]);
}

TEST(Reassembler, WithoutPackingTheNextFrameStartIsTheNextPacket) {
    reassembler_config c;
    c.packing = false;
    link l(c);
    for (int i = 0; i < 4; ++i) l.give(test::ipv4(100, static_cast<std::uint8_t>(i)));
    l.cut_all();  // two frames a packet
    l.bring_all_but({2});
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_EQ(l.got[1], l.sent[2]);
}

TEST(Reassembler, DamagedFramesAreDeliveredWhenTheHeaderIsIntact) {
    link l(corrupt());
    for (int i = 0; i < 5; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
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

TEST(Reassembler, ADamagedHeaderLosesItsPacketAndThePlaceOfTheNextIsSearched) {
    link l(corrupt());
    for (int i = 0; i < 6; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring_all_but({7});
    l.frames[7].payload[400 - 378 + 3] ^= 0x40;  // the length of packet 2
    l.bring(7, false);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 5U);
    EXPECT_TRUE(l.marks[1]);  // packet 1 has its end in the damaged frame
    EXPECT_EQ(l.got[2], l.sent[3]);
}

// Two wrong bits of one column, one in the length, one in the source address 10.42.0.1, pass the
// checksum. The false length ends inside a later packet, or beyond all of them.
TEST(Reassembler, ADamagedHeaderWithAWrongLengthButARightChecksumTakesNoPacketsWithIt) {
    for (const std::uint8_t bit : {0x02, 0x08}) {
        link l(corrupt());
        for (int i = 0; i < 6; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
        l.cut_all();
        l.bring_all_but({7});
        const std::size_t header = 400 - 378;  // of packet 2, in frame 7
        l.frames[7].payload[header + 2] ^= bit;
        l.frames[7].payload[header + 12] ^= bit;
        l.bring(7, false);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 5U) << int{bit};
        EXPECT_EQ(l.got[2], l.sent[3]);
        EXPECT_EQ(l.got[4], l.sent[5]);
        EXPECT_EQ(l.assembly.counts().searches, 1U);
    }
}

// The same with data of zeros, in which the false length of 136 bytes ends: they look like padding,
// but the next frame begins with zeros too, in a good frame or in a damaged one.
TEST(Reassembler, ZerosThatGoOnInTheNextFrameAreNoPadding) {
    for (const bool more_damage : {false, true}) {
        link l(corrupt());
        for (int i = 0; i < 6; ++i) l.give(test::ipv4(200, 0));
        l.cut_all();
        l.bring_all_but({7, 9});  // packet 2 is bytes 400..599, frames 7 to 11
        const std::size_t header = 400 - 378;
        l.frames[7].payload[header + 3] ^= 0x40;
        l.frames[7].payload[header + 13] ^= 0x40;
        if (more_damage) l.frames[9].payload[53] ^= 0x10;
        l.bring(7, false);
        l.bring(9, !more_damage);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 5U);
        for (const auto& p : l.got) EXPECT_EQ(p.size(), 200U);
        EXPECT_EQ(l.assembly.counts().searches, 1U);
    }
}

TEST(Reassembler, ADamagedHeaderIsBelievedOnceTheNextOneIsThere) {
    link l(corrupt());
    for (int i = 0; i < 3; ++i) l.give(test::ipv4(212, static_cast<std::uint8_t>(i)));
    l.cut_all();
    // Packet 1 is bytes 212..423: its header ends in frame 4, the next one begins in 7, ends in 8.
    l.bring_all_but({4, 8});
    l.frames[4].payload[30] ^= 1;
    l.bring(4, false);
    l.lose_below(8);
    EXPECT_EQ(l.got.size(), 1U);
    l.bring(8);
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_TRUE(l.marks[1]);
    EXPECT_EQ(l.got[1].size(), 212U);
    EXPECT_EQ(l.assembly.counts().searches, 0U);
}

TEST(Reassembler, AnIntactPacketBetweenTwoDamagedHeadersIsDelivered) {
    link l(corrupt());
    for (int i = 0; i < 6; ++i) l.give(test::ipv4(216, static_cast<std::uint8_t>(i)));
    l.cut_all();  // four frames each
    l.bring_all_but({4, 12});
    for (const frame_sn sn : {4, 12}) {
        l.frames[static_cast<std::size_t>(sn)].payload[9] ^= 1;  // the protocol
        l.bring(sn, false);
    }
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_FALSE(l.marks[1]);
}

TEST(Reassembler, ADamagedIpv6HeaderIsNotBelieved) {
    link l(corrupt());
    for (int i = 0; i < 4; ++i) l.give(test::ipv6_udp(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring_all_but({0});
    l.frames[0].payload[30] ^= 1;
    l.bring(0, false);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_EQ(l.got[0], l.sent[1]);
}

TEST(Reassembler, WithoutItsBitsALostFrameIsLostAlsoWhenDamageIsAllowed) {
    link l(corrupt());
    for (int i = 0; i < 3; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring_all_but({5});
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
    EXPECT_EQ(l.assembly.counts().damaged_packets, 0U);
}

TEST(Reassembler, ALostFrameEndsNoFlowWhateverItsProtocol) {
    for (const bool in_order : {true, false})
        for (int protocol = 0; protocol < 256; ++protocol) {
            reassembler_config c;
            c.in_order = in_order;
            link l(c);
            for (int i = 0; i < 6; ++i)
                l.give(test::ipv4(200, static_cast<std::uint8_t>(i),
                                  static_cast<std::uint8_t>(protocol)));
            l.cut_all();
            l.bring_all_but({7});  // with the header of packet 2
            l.lose_below(l.last());
            ASSERT_EQ(l.got.size(), 4U) << protocol;
            EXPECT_EQ(l.assembly.counts().searches, 1U);
            for (const int i : {0, 1, 3, 4, 5})
                EXPECT_EQ(std::ranges::count(l.got, l.sent[static_cast<std::size_t>(i)]),
                          i == 1 ? 0 : 1);
        }
}

TEST(Reassembler, AWrongPayloadBitEndsNoFlowWhateverItsProtocol) {
    for (int protocol = 0; protocol < 256; ++protocol) {
        link l(corrupt());
        for (int i = 0; i < 6; ++i)
            l.give(
                test::ipv4(216, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(protocol)));
        l.cut_all();  // four frames each
        l.bring_all_but({4});
        l.frames[4].payload[40] ^= 1;
        l.bring(4, false);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 6U) << protocol;
        EXPECT_TRUE(l.marks[1]);
        EXPECT_EQ(l.got[5], l.sent[5]);
        EXPECT_EQ(l.assembly.counts().searches, 0U);
    }
}

TEST(Reassembler, APacketOfAnUnusualProtocolBetweenLostFramesIsFound) {
    link l;
    for (int i = 0; i < 6; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i), 253));
    l.cut_all();
    // Frame 7 has the header of packet 2, frame 14 that of packet 4 and the end of 3. Packet 5
    // ends the stream.
    l.bring_all_but({7, 14});
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[0], l.sent[0]);
    EXPECT_EQ(l.got[1], l.sent[5]);
    // Packet 2 ends with frame 8; what follows it is lost.
    link exact;
    for (int i = 0; i < 4; ++i) exact.give(test::ipv4(162, static_cast<std::uint8_t>(i), 253));
    exact.cut_all();  // three frames each
    exact.bring_all_but({3, 9});
    exact.lose_below(exact.last());
    ASSERT_EQ(exact.got.size(), 2U);
    EXPECT_EQ(exact.got[1], exact.sent[2]);
}

TEST(Reassembler, OfATunnelOfAnUnusualProtocolTheOuterPacketIsDelivered) {
    for (const bool more_comes : {true, false}) {
        link l;
        auto outer = test::ipv4(300, 0x77, 253);
        const auto inner = test::ipv4(280, 0x55);
        std::ranges::copy(inner, outer.begin() + 20);
        l.give(test::ipv4(132, 1, 253));
        l.give(outer);  // bytes 132..431: ends with frame 7
        l.give(test::ipv4(100, 2, 253));
        l.cut_all();
        l.bring_all_but(more_comes ? std::vector<frame_sn>{0} : std::vector<frame_sn>{0, 8, 9});
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), more_comes ? 2U : 1U);
        EXPECT_EQ(l.got[0], outer);
    }
}

// The data has a header of a protocol that few use; where its packet would end nothing contradicts.
TEST(Reassembler, AnUnusualHeaderInTheDataTakesNoPacketsWithIt) {
    link l;
    auto quoting = test::ipv4(216, 0x11);
    const auto quoted = test::ipv4(700, 0x22, 253);
    std::copy(quoted.begin(), quoted.begin() + 28, quoting.begin() + 100);
    l.give(quoting);
    for (int i = 1; i < 6; ++i) l.give(test::ipv4(216, static_cast<std::uint8_t>(i), 253));
    l.cut_all();               // four frames each
    l.bring_all_but({0, 14});  // the header of `quoting`, and where the false packet ends
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.got[0], l.sent[1]);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.got[3], l.sent[5]);
}

TEST(Reassembler, APacketBeforeAnIpv6PacketOfAnUnknownProtocolIsFound) {
    for (const std::uint8_t protocol : {17, 253}) {
        link l;
        auto unknown = test::ipv6_udp(200, 4);
        unknown[6] = 200;
        l.give(test::ipv4(200, 1, protocol));
        l.give(test::ipv4(200, 2, protocol));
        l.give(unknown);
        l.give(test::ipv4(200, 5, protocol));
        l.cut_all();
        l.bring_all_but({0});
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 3U) << int{protocol};
        EXPECT_EQ(l.got[0], l.sent[1]);
    }
}

// A search: frames 0 and 1 are lost. Packet 1 is filled with one byte up to 6 bytes before the end
// of frame 5, where the next header begins; the rest of it comes late.
TEST(Reassembler, WhateverFillsThePacketBeforeALateHeaderThePacketsBehindItAreFound) {
    for (int fill = 0; fill < 256; ++fill) {
        link l;
        l.give(test::ipv4(100, static_cast<std::uint8_t>(fill)));
        l.give(test::ipv4(6 * 54 - 6 - 100, static_cast<std::uint8_t>(fill)));
        for (int i = 0; i < 3; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(fill)));
        l.cut_all();
        l.bring_all_but({0, 1, 6});
        l.lose_below(2);
        EXPECT_TRUE(l.got.empty());
        l.bring(6);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 3U) << fill;
        EXPECT_EQ(l.got[0], l.sent[2]);
    }
}

// Every eighth byte of the data begins what may be an IPv6 packet of 1500 bytes, more of them at a
// time than a search keeps. The packets behind are found once that has been told.
TEST(Reassembler, ASearchGoesOnBehindMoreCandidatesThanItKeeps) {
    link l;
    auto full = test::ipv4(1400);
    for (std::size_t i = 20; i + 8 <= full.size(); i += 8) {
        const std::uint8_t start[8] = {0x60, 0, 0, 0, 0x05, 0xb4, 17, 64};
        std::copy(start, start + 8, full.begin() + static_cast<std::ptrdiff_t>(i));
    }
    l.give(full);
    for (int i = 0; i < 20; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    for (frame_sn sn = 1; sn < l.last(); ++sn) {
        l.lose_below(1);
        l.bring(sn);
    }
    l.lose_below(l.last());
    EXPECT_EQ(l.got.size(), 20U);
}

// The chain ahead has begun with what a packet's data looks like, which reaches over the next
// header. That one then comes damaged, where the chain in front says that it is due.
TEST(Reassembler, ADamagedHeaderThatIsDueIsNotLeftToAChainThatBeganInData) {
    reassembler_config c = as_completed();
    c.deliver_corrupt = true;
    link l(c);
    auto carrying = test::ipv4(216, 0x77);
    const auto false_header = test::ipv4(100 + 216, 0x55);
    std::copy(false_header.begin(), false_header.begin() + 20, carrying.begin() + 116);
    l.give(carrying);
    for (int i = 1; i < 5; ++i) l.give(test::ipv4(216, static_cast<std::uint8_t>(i)));
    l.cut_all();                   // four frames each
    l.frames[4].payload[40] ^= 1;  // data
    for (frame_sn sn = 1; sn < l.last(); ++sn) l.put(sn, sn != 4);
    l.assembly.advance();
    EXPECT_EQ(l.assembly.chains(), 2U);
    l.bring(0);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 5U);
    for (const auto& p : l.sent) EXPECT_EQ(std::ranges::count(l.got, p), p == l.sent[1] ? 0 : 1);
    EXPECT_EQ(std::ranges::count(l.marks, true), 1);
    EXPECT_EQ(l.assembly.counts().searches, 0U);
}

// Both headers lie in damaged frames; the second one, with its own errors, has options or a traffic
// class.
TEST(Reassembler, ADamagedPacketBeforeADamagedHeaderOfAnyFormIsDelivered) {
    auto options = test::ipv4(216, 3);
    options[0] = 0x47;
    options[9] = 17;
    auto marked = test::ipv6_udp(216, 3);
    marked[0] = 0x6b;
    for (const auto& second : {options, marked}) {
        link l(corrupt());
        l.give(test::ipv4(216, 1));
        l.give(test::ipv4(216, 2));
        l.cut_all();
        for (std::size_t f = 0; f < 4; ++f)
            l.frames.push_back({4,
                                {second.begin() + static_cast<std::ptrdiff_t>(54 * f),
                                 second.begin() + static_cast<std::ptrdiff_t>(54 * f + 54)}});
        l.assembly.frames().extend(l.last());
        l.bring_all_but({4, 8});
        l.frames[4].payload[30] ^= 1;  // data
        l.frames[8].payload[12] ^= 1;  // address
        l.bring(4, false);
        l.bring(8, false);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 2U) << int{second[0]};
        EXPECT_TRUE(l.marks[1]);
    }
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
                    l.give(test::ipv4(180, static_cast<std::uint8_t>(i)));
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
            for (int i = 0; i < 6; ++i) l.give(test::ipv4(54, static_cast<std::uint8_t>(i)));
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

TEST(Reassembler, ARestartForgetsWhatIsIncompleteAndCountsIt) {
    link l;
    for (int i = 0; i < 3; ++i) l.give(test::ipv4(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring(5, false);
    l.bring_all_but({5});
    l.assembly.restart(100, false);
    EXPECT_EQ(l.assembly.counts().lost_packets, 2U);
    EXPECT_EQ(l.assembly.frames().first(), 100);
}

TEST(Reassembler, RandomBitsNeverHangOrCrashTheSearch) {
    std::uint64_t x = 88172645463325252ULL;
    const auto random = [&x] {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return x;
    };
    for (const bool in_order : {true, false}) {
        reassembler_config c;
        c.in_order = in_order;
        c.deliver_corrupt = true;
        c.profile = link_profile::radio;
        reassembler r(c, [](std::span<const std::uint8_t>, bool) {});
        frame_sn next = 0;
        for (int step = 0; step < 3000; ++step) {
            next += 5;
            r.frames().extend(next);
            for (int i = 0; i < 8; ++i) {
                received_unit u;
                u.sn = next - 1 - static_cast<frame_sn>(random() % 60);
                u.bits_per_symbol = 1 + static_cast<int>(random() % 8);
                u.whole = random() % 4 != 0;
                u.offset = u.whole ? 0 : static_cast<int>(random() % 256);
                u.last = random() % 2 == 0;
                std::vector<std::uint8_t> payload(random() % 109);
                for (auto& b : payload)
                    b = static_cast<std::uint8_t>(random() % 3 == 0 ? 0x45 : random());
                if (u.sn >= 0) r.frames().put(u, random() % 5 != 0, payload);
            }
            r.frames().raise_edge(next - 40);
            r.advance();
            ASSERT_LE(r.frames().end() - r.frames().first(), 200000);
        }
    }
}

}  // namespace
}  // namespace wip
