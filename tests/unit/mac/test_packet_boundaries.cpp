// SPDX-License-Identifier: GPL-3.0-or-later
// After a header that was lost or damaged, reassembly continues at the SDU boundaries that grants
// report.
#include "reassembly_link.h"
#include "types/splitmix64.h"

namespace wip::test {
namespace {

TEST(PacketBoundaries, AfterALostHeaderTheNextPacketFollows) {
    for (const bool v6 : {false, true}) {
        link l;
        for (int i = 0; i < 6; ++i)
            l.give(v6 ? ipv6_udp(200, static_cast<std::uint8_t>(i))
                      : ipv4(200, static_cast<std::uint8_t>(i)));
        l.cut_all();
        l.bring_all_but({7});
        EXPECT_EQ(l.got.size(), 1U);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 4U);
        EXPECT_EQ(l.got[1], l.sent[3]);
        EXPECT_EQ(l.got[3], l.sent[5]);
        EXPECT_EQ(l.assembly.counts().lost_packets, 1U);
        EXPECT_EQ(l.assembly.counts().boundaries_lost, 1U);
    }
}

// The data before the last packet looks like the start of headers of 60 bytes, which would end
// beyond the last frame.
TEST(PacketBoundaries, TheLastPacketIsFoundWhateverTheDataBeforeItLooksLike) {
    link l;
    l.give(ipv4(100));
    l.give(ipv4(190, 0x4f));
    l.give(ipv4(30));
    l.cut_all();
    l.bring_all_but({1});  // with the second header; bytes 320 .. 323 of the last one are padding
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 1U);
    EXPECT_EQ(l.got[0], l.sent[2]);
}

TEST(PacketBoundaries, AHeaderInTheDataIsNotTakenForOne) {
    link l;
    auto quoting = ipv4(400, 0x11);
    const auto quoted = ipv4(120, 0x22);
    // an ICMP error quotes a packet in this way
    std::copy(quoted.begin(), quoted.begin() + 28, quoting.begin() + 200);
    l.give(ipv4(100, 0));
    l.give(quoting);
    l.give(ipv4(100, 3));
    l.give(ipv4(100, 4));
    l.cut_all();
    l.bring_all_but({1});  // the header of `quoting`
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 2U);
    EXPECT_EQ(l.got[0], l.sent[2]);
    EXPECT_EQ(l.got[1], l.sent[3]);
}

TEST(PacketBoundaries, ADamagedHeaderLosesItsPacketAndThePlaceOfTheNextIsSearched) {
    link l(corrupt());
    l.give_packets(6, 200);
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
TEST(PacketBoundaries, ADamagedHeaderWithAWrongLengthButARightChecksumTakesNoPacketsWithIt) {
    for (const std::uint8_t bit : {0x02, 0x08}) {
        link l(corrupt());
        l.give_packets(6, 200);
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
        EXPECT_EQ(l.assembly.counts().boundaries_lost, 1U);
    }
}

// The same with data of zeros, in which the false length of 136 bytes ends: they look like padding,
// but the next frame begins with zeros too, in a good frame or in a damaged one.
TEST(PacketBoundaries, ZerosThatGoOnInTheNextFrameAreNoPadding) {
    for (const bool more_damage : {false, true}) {
        link l(corrupt());
        for (int i = 0; i < 6; ++i) l.give(ipv4(200, 0));
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
        EXPECT_EQ(l.assembly.counts().boundaries_lost, 1U);
    }
}

TEST(PacketBoundaries, ADamagedHeaderIsBelievedOnceTheNextBoundaryIsTold) {
    link l(corrupt());
    l.tells = false;
    l.give_packets(3, 212);
    l.cut_all();
    // Packet 1 is bytes 212..423: its header ends in frame 4, the next one begins in 7, ends in 8.
    for (frame_sn sn = 0; sn < 7; ++sn) l.tell(sn);
    l.bring_all_but({4, 8});
    l.frames[4].payload[30] ^= 1;
    l.bring(4, false);
    l.assembly.frames().raise_edge(7);
    l.assembly.advance();
    EXPECT_EQ(l.got.size(), 1U);
    l.tell(7);
    l.assembly.advance();
    EXPECT_EQ(l.got.size(), 2U);
    l.bring(8);
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_TRUE(l.marks[1]);
    EXPECT_EQ(l.got[1].size(), 212U);
    EXPECT_EQ(l.assembly.counts().boundaries_lost, 0U);
}

TEST(PacketBoundaries, AnIntactPacketBetweenTwoDamagedHeadersIsDelivered) {
    link l(corrupt());
    l.give_packets(6, 216);
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

TEST(PacketBoundaries, ADamagedIpv6HeaderIsNotBelieved) {
    link l(corrupt());
    for (int i = 0; i < 4; ++i) l.give(ipv6_udp(200, static_cast<std::uint8_t>(i)));
    l.cut_all();
    l.bring_all_but({0});
    l.frames[0].payload[30] ^= 1;
    l.bring(0, false);
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 3U);
    EXPECT_EQ(l.got[0], l.sent[1]);
}

TEST(PacketBoundaries, ALostFrameEndsNoFlowWhateverItsProtocol) {
    for (const bool in_order : {true, false})
        for (int protocol = 0; protocol < 256; ++protocol) {
            reassembler_config c;
            c.in_order = in_order;
            link l(c);
            for (int i = 0; i < 6; ++i)
                l.give(
                    ipv4(200, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(protocol)));
            l.cut_all();
            l.bring_all_but({7});  // with the header of packet 2
            l.lose_below(l.last());
            ASSERT_EQ(l.got.size(), 4U) << protocol;
            // In the order of completion a chain has begun with packet 2 already.
            EXPECT_EQ(l.assembly.counts().boundaries_lost, in_order ? 1U : 2U);
            for (const int i : {0, 1, 3, 4, 5})
                EXPECT_EQ(std::ranges::count(l.got, l.sent[static_cast<std::size_t>(i)]),
                          i == 1 ? 0 : 1);
        }
}

TEST(PacketBoundaries, AWrongPayloadBitEndsNoFlowWhateverItsProtocol) {
    for (int protocol = 0; protocol < 256; ++protocol) {
        link l(corrupt());
        for (int i = 0; i < 6; ++i)
            l.give(ipv4(216, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(protocol)));
        l.cut_all();  // four frames each
        l.bring_all_but({4});
        l.frames[4].payload[40] ^= 1;
        l.bring(4, false);
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 6U) << protocol;
        EXPECT_TRUE(l.marks[1]);
        EXPECT_EQ(l.got[5], l.sent[5]);
        EXPECT_EQ(l.assembly.counts().boundaries_lost, 0U);
    }
}

TEST(PacketBoundaries, APacketOfAnUnusualProtocolBetweenLostFramesIsFound) {
    link l;
    for (int i = 0; i < 6; ++i) l.give(ipv4(200, static_cast<std::uint8_t>(i), 253));
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
    for (int i = 0; i < 4; ++i) exact.give(ipv4(162, static_cast<std::uint8_t>(i), 253));
    exact.cut_all();  // three frames each
    exact.bring_all_but({3, 9});
    exact.lose_below(exact.last());
    ASSERT_EQ(exact.got.size(), 2U);
    EXPECT_EQ(exact.got[1], exact.sent[2]);
}

TEST(PacketBoundaries, OfATunnelOfAnUnusualProtocolTheOuterPacketIsDelivered) {
    for (const bool more_comes : {true, false}) {
        link l;
        auto outer = ipv4(300, 0x77, 253);
        const auto inner = ipv4(280, 0x55);
        std::ranges::copy(inner, outer.begin() + 20);
        l.give(ipv4(132, 1, 253));
        l.give(outer);  // bytes 132..431: ends with frame 7
        l.give(ipv4(100, 2, 253));
        l.cut_all();
        l.bring_all_but(more_comes ? std::vector<frame_sn>{0} : std::vector<frame_sn>{0, 8, 9});
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), more_comes ? 2U : 1U);
        EXPECT_EQ(l.got[0], outer);
    }
}

// The data has a header of a protocol that few use; where its packet would end nothing contradicts.
TEST(PacketBoundaries, AnUnusualHeaderInTheDataTakesNoPacketsWithIt) {
    link l;
    auto quoting = ipv4(216, 0x11);
    const auto quoted = ipv4(700, 0x22, 253);
    std::copy(quoted.begin(), quoted.begin() + 28, quoting.begin() + 100);
    l.give(quoting);
    for (int i = 1; i < 6; ++i) l.give(ipv4(216, static_cast<std::uint8_t>(i), 253));
    l.cut_all();               // four frames each
    l.bring_all_but({0, 14});  // the header of `quoting`, and where the false packet ends
    l.lose_below(l.last());
    ASSERT_EQ(l.got.size(), 4U);
    EXPECT_EQ(l.got[0], l.sent[1]);
    EXPECT_EQ(l.got[1], l.sent[2]);
    EXPECT_EQ(l.got[3], l.sent[5]);
}

TEST(PacketBoundaries, APacketBeforeAnIpv6PacketOfAnUnknownProtocolIsFound) {
    for (const std::uint8_t protocol : {17, 253}) {
        link l;
        auto unknown = ipv6_udp(200, 4);
        unknown[6] = 200;
        l.give(ipv4(200, 1, protocol));
        l.give(ipv4(200, 2, protocol));
        l.give(unknown);
        l.give(ipv4(200, 5, protocol));
        l.cut_all();
        l.bring_all_but({0});
        l.lose_below(l.last());
        ASSERT_EQ(l.got.size(), 3U) << int{protocol};
        EXPECT_EQ(l.got[0], l.sent[1]);
    }
}

// A search: frames 0 and 1 are lost. Packet 1 is filled with one byte up to 6 bytes before the end
// of frame 5, where the next header begins; the rest of it comes late.
TEST(PacketBoundaries, WhateverFillsThePacketBeforeALateHeaderThePacketsBehindItAreFound) {
    for (int fill = 0; fill < 256; ++fill) {
        link l;
        l.give(ipv4(100, static_cast<std::uint8_t>(fill)));
        l.give(ipv4(6 * 54 - 6 - 100, static_cast<std::uint8_t>(fill)));
        for (int i = 0; i < 3; ++i) l.give(ipv4(200, static_cast<std::uint8_t>(fill)));
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

// Both headers lie in damaged frames; the second one, with its own errors, has options or a traffic
// class.
TEST(PacketBoundaries, ADamagedPacketBeforeADamagedHeaderOfAnyFormIsDelivered) {
    auto options = ipv4(216, 3);
    options[0] = 0x47;
    options[9] = 17;
    auto marked = ipv6_udp(216, 3);
    marked[0] = 0x6b;
    for (const auto& second : {options, marked}) {
        link l(corrupt());
        l.give(ipv4(216, 1));
        l.give(ipv4(216, 2));
        l.give(second);
        l.cut_all();
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

// Data that is packets all over, each of which ends with the packet around it.
std::vector<std::uint8_t> full_of_packets(std::size_t bytes, std::uint8_t mark) {
    auto p = ipv4(bytes, mark);
    for (std::size_t at = 20; at + 20 <= bytes; at += 20) {
        const auto inner = ipv4(bytes - at, 0xee);
        std::copy_n(inner.begin(), 20, p.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return p;
}

TEST(PacketBoundaries, NothingMadeOfDataIsDelivered) {
    for (const bool in_order : {true, false})
        for (frame_sn lost = 0; lost < 40; ++lost) {
            reassembler_config c;
            c.in_order = in_order;
            link l(c);
            for (std::uint8_t i = 0; i < 10; ++i) l.give(full_of_packets(216, i));
            l.cut_all();  // four frames each
            l.bring_all_but({lost});
            l.lose_below(l.last());
            ASSERT_EQ(l.got.size(), 9U) << lost;
            for (const auto& p : l.got) ASSERT_EQ(std::ranges::count(l.sent, p), 1);
        }
}

TEST(PacketBoundaries, ItWaitsForABoundaryThatIsStillToBeTold) {
    for (const bool in_order : {true, false}) {
        reassembler_config c;
        c.in_order = in_order;
        link l(c);
        l.tells = false;
        for (std::uint8_t i = 0; i < 4; ++i) l.give(ipv4(108, i));
        l.cut_all();  // two frames each
        l.tell(0);
        l.bring_all_but({2});
        l.lose_below(3);
        EXPECT_EQ(l.got.size(), 1U);
        l.tell(4);  // not the first boundary after the lost frame: frame 3 may have one
        l.assembly.advance();
        EXPECT_EQ(l.got.size(), in_order ? 1U : 3U);
        l.tell(3);
        l.assembly.advance();
        EXPECT_EQ(l.got.size(), 3U);
        EXPECT_EQ(l.assembly.counts().unplaced_nibbles, 108U);
    }
}

TEST(PacketBoundaries, BelowTheEdgeItWaitsNoLonger) {
    link l;
    l.tells = false;
    for (std::uint8_t i = 0; i < 4; ++i) l.give(ipv4(108, i));
    l.cut_all();
    l.tell(6);
    l.bring_all_but({});
    EXPECT_TRUE(l.got.empty());  // the terminal has not been told where the first packet begins
    l.lose_below(6);
    ASSERT_EQ(l.got.size(), 1U);
    EXPECT_EQ(l.got[0], l.sent[3]);
    EXPECT_EQ(l.assembly.counts().unplaced_nibbles, 6U * 108U);
}

// A false length that no CRC has caught: short, long, and beyond all that is there.
TEST(PacketBoundaries, APacketThatContradictsABoundaryIsNone) {
    for (const std::size_t wrong : {100, 150, 300, 2000}) {
        link l;
        for (std::uint8_t i = 0; i < 6; ++i) l.give(full_of_packets(216, i));
        l.cut_all();
        const auto header = ipv4(wrong, 1);
        std::copy_n(header.begin(), 20, l.frames[4].payload.begin());
        l.bring_all_but({});
        l.lose_below(l.last());
        for (const auto& p : l.got)
            ASSERT_TRUE(std::ranges::count(l.sent, p) == 1 || p.size() == wrong) << wrong;
        EXPECT_EQ(std::ranges::count(l.got, l.sent[5]), wrong == 2000 ? 0 : 1) << wrong;
    }
}

// The false length of the damaged header leads to data that is packets up to the boundary.
TEST(PacketBoundaries, ADamagedHeaderMakesNoPacketsOfDataBehindItsFrame) {
    link l(corrupt());
    for (std::uint8_t i = 0; i < 6; ++i) l.give(full_of_packets(216, i));
    l.cut_all();
    l.bring_all_but({4});
    l.frames[4].payload[3] ^= 0x58;  // 216 becomes 128, and the sum stays right
    l.frames[4].payload[13] ^= 0x58;
    const bool right = read_ip_header(l.frames[4].payload).has_value();
    l.bring(4, false);
    l.lose_below(l.last());
    EXPECT_EQ(l.got.size(), 5U) << right;
    for (const auto& p : l.got) EXPECT_EQ(std::ranges::count(l.sent, p), 1);
}

TEST(PacketBoundaries, RandomBitsAndBoundariesNeverHangOrCrashIt) {
    splitmix64 dice(88172645463325252);
    const auto random = [&dice] { return dice.next(); };
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
                r.frames().tell_boundary(
                    next - 1 - static_cast<frame_sn>(random() % 60),
                    static_cast<std::uint8_t>(random() % 3 != 0 ? no_boundary : random() % 216));
            }
            r.frames().raise_edge(next - 40);
            r.advance();
            ASSERT_LE(r.frames().end() - r.frames().first(), 200000);
        }
    }
}

}  // namespace
}  // namespace wip::test
