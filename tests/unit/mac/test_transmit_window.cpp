// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "packets.h"
#include "rlc/transmit_window.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

// A sender with verbs. Profile wipemu: 27 k nibbles a frame.
class TransmitWindow : public testing::Test {
protected:
    void give(std::size_t bytes) {
        queue.push(std::vector<std::uint8_t>(bytes, 0x33));
        window.on_sdu(bytes);
    }
    arq_unit send(int k) { return window.open_frame(k, queue); }
    arq_unit first_waiting() {
        std::array<arq_unit, 1> u;
        EXPECT_EQ(window.first_waiting(u), 1U);
        return u[0];
    }

    segmenter queue{true};
    transmit_window window{link_profile::wipemu};
};

TEST_F(TransmitWindow, APacketIsSentWhenAllItsFramesAreAcknowledged) {
    give(27);  // two frames of 27 nibbles at k = 1
    const arq_unit a = send(1), b = send(1);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(window.totals().held_packets, 1U);
    EXPECT_EQ(window.acknowledge(b).sdu_bits, 108);
    EXPECT_EQ(window.totals().sent_packets, 0U);
    EXPECT_TRUE(window.acknowledge(a).frame_done);
    EXPECT_EQ(window.totals().sent_packets, 1U);
    EXPECT_EQ(window.totals().sent_bytes, 27U);
    EXPECT_EQ(window.totals().held_packets, 0U);
    EXPECT_TRUE(window.empty());
}

TEST_F(TransmitWindow, TheEdgeIsTheOldestOpenFrame) {
    give(100);
    const arq_unit a = send(1), b = send(1), c = send(1);
    EXPECT_EQ(window.edge(), 0);
    window.acknowledge(b);
    EXPECT_EQ(window.edge(), 0);
    window.acknowledge(a);
    EXPECT_EQ(window.edge(), 2);
    window.acknowledge(c);
    EXPECT_EQ(window.edge(), 3);
    EXPECT_EQ(window.next_sn(), 3);
}

TEST_F(TransmitWindow, PaddingIsNotCountedAsSduBits) {
    give(5);
    EXPECT_EQ(window.acknowledge(send(8)).sdu_bits, 40);
}

TEST_F(TransmitWindow, AFrameIsGivenUpWithAllItsUnitsAndTheirPackets) {
    give(10);
    give(200);
    arq_unit a = send(2);  // all of the first packet, a part of the second
    const arq_unit b = send(8);
    a.retransmissions = 3;
    arq_unit half = a;
    half.length = 27;
    half.bits_per_symbol = 1;
    half.retransmissions = 2;
    EXPECT_FALSE(window.fail(half, 3).dropped);
    EXPECT_EQ(window.waiting(), 1U);
    arq_unit other = half;
    other.offset = 27;
    other.retransmissions = 3;
    EXPECT_TRUE(window.fail(other, 3).dropped);
    EXPECT_EQ(window.waiting(), 0U);
    EXPECT_EQ(window.totals().dropped_packets, 2U);
    EXPECT_EQ(window.totals().dropped_bytes, 210U);
    EXPECT_EQ(window.totals().held_packets, 0U);
    EXPECT_EQ(window.edge(), 1);
    // A late answer for a frame that is gone changes nothing.
    EXPECT_FALSE(window.acknowledge(half).frame_done);
    EXPECT_FALSE(window.fail(half, 3).dropped);
    window.acknowledge(b);
    EXPECT_EQ(window.totals().sent_packets, 0U);
}

TEST_F(TransmitWindow, WaitingUnitsAreOldestFirstAndFrontToBack) {
    give(500);
    const arq_unit a = send(2), b = send(2);
    window.fail(b, 30);
    arq_unit back = a, front = a;
    back.offset = back.length = 27;
    front.length = 27;
    window.fail(back, 30);
    window.fail(front, 30);
    std::array<arq_unit, 5> u;
    ASSERT_EQ(window.first_waiting(u), 3U);
    EXPECT_EQ(u[0], front);
    EXPECT_EQ(u[1], back);
    EXPECT_EQ(u[2], b);
    window.take_waiting(u[0]);
    EXPECT_EQ(first_waiting(), back);
}

TEST_F(TransmitWindow, AFragmentCarriesTheFramesNibblesFromItsOffsetOnAndThenZeros) {
    give(54);
    const arq_unit whole = send(4);  // 108 nibbles, all 0x3
    arq_unit u = whole;
    u.offset = 100;
    u.length = 8;
    u.bits_per_symbol = 1;
    std::vector<std::uint8_t> out(14, 0xff);
    window.write_payload(u, out);
    for (std::size_t i = 0; i < 28; ++i) EXPECT_EQ(get_nibble(out.data(), i), i < 8 ? 3 : 0);
    EXPECT_TRUE(window.is_last(u));
    EXPECT_FALSE(window.is_whole(u));
    EXPECT_TRUE(window.is_whole(whole));
    u.offset = 50;
    EXPECT_FALSE(window.is_last(u));
}

TEST_F(TransmitWindow, TheWindowIsFullAtWhatTheGrantCanSay) {
    for (int i = 0; i < max_window; ++i) {
        ASSERT_FALSE(window.full());
        give(1);
        send(1);
    }
    EXPECT_TRUE(window.full());
    EXPECT_EQ(window.next_sn() - window.edge(), 32767);
    arq_unit first;
    first.length = 27;
    first.bits_per_symbol = 1;
    window.acknowledge(first);
    EXPECT_FALSE(window.full());
}

// Two frames of 27 nibbles a packet, at k = 1.
class TransmitWindowBoundaries : public TransmitWindow {
protected:
    TransmitWindowBoundaries() {
        for (int i = 0; i < 10; ++i) give(27);
    }
    void send_and_answer(int frames, bool heard) {
        for (int i = 0; i < frames; ++i) {
            units.push_back(send(1));
            window.resolve_boundary(units.back().sn, heard);
        }
    }
    void acknowledge(frame_sn first, frame_sn last) {
        for (auto sn = first; sn <= last; ++sn)
            window.acknowledge(units[static_cast<std::size_t>(sn)]);
    }
    void give_up(frame_sn sn) { window.fail(units[static_cast<std::size_t>(sn)], 0); }
    std::vector<boundary_run> take(int bits = 92) {
        std::array<boundary_run, most_boundary_runs> runs{};
        const std::size_t n = window.take_boundaries(runs, bits);
        return {runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(n)};
    }
    std::vector<arq_unit> units;
};

TEST_F(TransmitWindowBoundaries, AFrameHasTheBoundaryOfItsFirstPacketOrOfItsPadding) {
    give(5);
    EXPECT_EQ(window.frame(send(1).sn).boundary, 0);
    EXPECT_EQ(window.frame(send(1).sn).boundary, no_boundary);
    for (int i = 0; i < 17; ++i) send(1);
    EXPECT_EQ(window.frame(send(8).sn).boundary, 27);  // the last one and a half of the packets
    give(3);
    EXPECT_EQ(window.frame(send(8).sn).boundary, 0);
    segmenter apart(false);
    apart.push(std::vector<std::uint8_t>(20, 1));
    window.on_sdu(20);
    window.open_frame(1, apart);
    EXPECT_EQ(window.frame(window.open_frame(1, apart).sn).boundary, 13);
}

TEST_F(TransmitWindowBoundaries, WhatWasHeardIsNotSaidAgain) {
    send_and_answer(4, true);
    give_up(1);
    EXPECT_FALSE(window.boundaries_waiting());
    acknowledge(0, 0);
    EXPECT_EQ(window.edge(), 2);
}

TEST_F(TransmitWindowBoundaries, WithoutAFrameGivenUpNothingIsSaid) {
    send_and_answer(6, false);
    acknowledge(0, 5);
    EXPECT_FALSE(window.boundaries_waiting());
    EXPECT_EQ(window.edge(), 6);
}

TEST_F(TransmitWindowBoundaries, TheEdgeWaitsAtAFrameBehindOneGivenUpUntilItsBoundaryIsHeard) {
    send_and_answer(8, false);
    acknowledge(1, 7);
    give_up(0);
    EXPECT_EQ(window.edge(), 1);
    for (const bool heard : {false, true}) {
        const auto runs = take();
        ASSERT_EQ(runs.size(), 1U);
        EXPECT_EQ(runs[0], (boundary_run{1, 2, 0}));  // 1 has none, 2 begins a packet
        EXPECT_FALSE(window.boundaries_waiting());
        window.resolve_boundaries(runs[0], heard);
        EXPECT_EQ(window.edge(), heard ? 8 : 1);
    }
    EXPECT_FALSE(window.boundaries_waiting());
}

TEST_F(TransmitWindowBoundaries, SeveralGivenUpAreSaidInRunsAndAsManyAsFit) {
    send_and_answer(16, false);
    for (const frame_sn sn : {0, 5, 11}) give_up(sn);
    ASSERT_EQ(take(10).size(), 0U);
    ASSERT_EQ(take(14).size(), 1U);  // 1 + gamma(15) + gamma(2) + 2
    const auto runs = take();
    ASSERT_EQ(runs.size(), 2U);
    EXPECT_EQ(runs[0], (boundary_run{6, 1, 0}));
    EXPECT_EQ(runs[1], (boundary_run{12, 1, 0}));
}

TEST_F(TransmitWindowBoundaries, BehindTheLastPacketTheNextFramesAreAskedFor) {
    send_and_answer(4, true);
    give_up(3);
    acknowledge(0, 2);
    EXPECT_TRUE(window.empty());
    send_and_answer(2, false);  // the next packet
    EXPECT_EQ(take(), (std::vector<boundary_run>{{4, 1, 0}}));
    acknowledge(4, 5);
    EXPECT_EQ(window.edge(), 4);
    window.resolve_boundary(4, true);
    EXPECT_TRUE(window.empty());
}

TEST_F(TransmitWindowBoundaries, OfAFrameThatIsGivenUpItselfNothingHasToBeSaid) {
    send_and_answer(8, false);
    acknowledge(1, 1);
    give_up(0);
    give_up(2);
    EXPECT_EQ(take(), (std::vector<boundary_run>{{1, 1, no_boundary}, {3, 2, 0}}));
}

}  // namespace
}  // namespace wip
