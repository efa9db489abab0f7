// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "rlc/receive_window.h"
#include "rlc/unit.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

constexpr auto radio = link_profile::radio;
using put = receive_window::put_result;

std::vector<std::uint8_t> content(int nibbles, int first = 0) {
    std::vector<std::uint8_t> p(static_cast<std::size_t>(nibbles + 1) / 2);
    for (int i = 0; i < nibbles; ++i)
        set_nibble(p.data(), static_cast<std::size_t>(i),
                   static_cast<std::uint8_t>((first + i) * 7 % 16));
    return p;
}

received_unit whole(frame_sn sn, int k) { return {sn, k, true, 0, true}; }
received_unit fragment(frame_sn sn, int k, int offset, bool last) {
    return {sn, k, false, offset, last};
}

// Every frame, cut in two or three at every pair of modulations, pieces in every order, and the
// length of the frame not known beforehand.
TEST(ReceiveWindow, AnyCutOfAnyFrameInAnyOrderCompletesItOnceAndRight) {
    for (const auto profile : {link_profile::radio, link_profile::wipemu})
        for (int frame_k = 2; frame_k <= 8; ++frame_k)
            for (int first_k = 1; first_k < frame_k; ++first_k)
                for (int next_k = 1; next_k <= 8; ++next_k) {
                    const int n = frame_payload_nibbles(profile, frame_k);
                    std::vector<received_unit> pieces;
                    for (int offset = 0; offset < n;) {
                        int k = offset == 0 ? first_k : next_k;
                        const bool last = reaches_end(profile, offset, k, n);
                        if (last) k = lowest_modulation(profile, n - offset);
                        pieces.push_back(fragment(5, k, offset, last));
                        offset += frame_payload_nibbles(profile, k);
                    }
                    for (std::size_t turn = 0; turn < pieces.size(); ++turn) {
                        receive_window w(profile, false);
                        w.extend(10);
                        for (std::size_t i = 0; i < pieces.size(); ++i) {
                            ASSERT_EQ(w.state(5), frame_state::pending);
                            const auto& p = pieces[(i + turn) % pieces.size()];
                            ASSERT_FALSE(w.has(p));
                            const int room = frame_payload_nibbles(profile, p.bits_per_symbol);
                            ASSERT_EQ(w.put(p, true, content(room, p.offset)), put::fresh);
                            ASSERT_TRUE(w.has(p));
                        }
                        ASSERT_EQ(w.state(5), frame_state::complete);
                        ASSERT_EQ(w.nibbles(5), n);
                        for (int i = 0; i < n; ++i)
                            ASSERT_EQ(get_nibble(w.payload(5), static_cast<std::size_t>(i)),
                                      i * 7 % 16);
                        ASSERT_EQ(w.put(pieces[0], true, content(216)), put::duplicate);
                    }
                }
}

TEST(ReceiveWindow, AFrameBelowTheEdgeIsLostUnlessItIsComplete) {
    receive_window w(radio, false);
    w.extend(3);
    w.put(whole(1, 4), true, content(102));
    w.put(whole(0, 4), false, content(102));
    w.raise_edge(2);
    EXPECT_EQ(w.state(0), frame_state::lost);
    EXPECT_EQ(w.nibbles(0), 102);
    EXPECT_EQ(w.state(1), frame_state::complete);
    EXPECT_EQ(w.state(2), frame_state::pending);
    EXPECT_EQ(w.put(whole(0, 4), true, content(102)), put::duplicate);
}

TEST(ReceiveWindow, BadBitsAreKeptWhenWantedAndGoodOnesAreNotOverwritten) {
    receive_window w(radio, true);
    w.extend(2);
    std::vector<std::uint8_t> wrong(24, 0xff);
    w.put(fragment(0, 1, 0, false), true, content(21));
    EXPECT_EQ(w.put(whole(0, 2), false, wrong), put::bad);
    w.raise_edge(1);
    ASSERT_EQ(w.state(0), frame_state::damaged);
    for (std::size_t i = 0; i < 48; ++i)
        EXPECT_EQ(get_nibble(w.payload(0), i), i < 21 ? i * 7 % 16 : 0xf);
    bool damaged = false;
    std::vector<std::uint8_t> out(24);
    EXPECT_EQ(w.read({0, 0}, 48, out.data(), &damaged), receive_window::read_result::ok);
    EXPECT_TRUE(damaged);
}

TEST(ReceiveWindow, ReadingSaysWhatItWaitsFor) {
    receive_window w(radio, false);
    w.extend(3);
    std::vector<std::uint8_t> out(100);
    w.put(whole(0, 2), true, content(48));
    EXPECT_EQ(w.read({0, 40}, 8, out.data(), nullptr), receive_window::read_result::ok);
    EXPECT_EQ(w.read({0, 40}, 9, out.data(), nullptr), receive_window::read_result::blocked);
    w.put(whole(1, 1), true, content(21));
    EXPECT_EQ(w.read({0, 40}, 29, out.data(), nullptr), receive_window::read_result::ok);
    EXPECT_EQ(get_nibble(out.data(), 8), 0);
    EXPECT_EQ(get_nibble(out.data(), 9), 7);
    w.raise_edge(3);
    EXPECT_EQ(w.read({0, 40}, 30, out.data(), nullptr), receive_window::read_result::lost);
    EXPECT_EQ(w.read({3, 0}, 1, out.data(), nullptr), receive_window::read_result::blocked);
}

TEST(ReceiveWindow, WhatContradictsTheFrameIsRefused) {
    receive_window w(radio, false);
    w.extend(1);
    w.put(whole(0, 3), false, {});
    EXPECT_EQ(w.put(whole(0, 4), true, content(102)), put::invalid);
    EXPECT_EQ(w.put(fragment(0, 2, 48, false), true, content(48)), put::invalid);
    EXPECT_EQ(w.put(fragment(0, 1, 250, false), true, content(21)), put::invalid);
    EXPECT_EQ(w.put(fragment(0, 8, 100, true), true, content(210)), put::invalid);
    EXPECT_EQ(w.put(whole(0, 0), true, {}), put::invalid);
    EXPECT_EQ(w.put(whole(0, 9), true, content(216)), put::invalid);
    EXPECT_EQ(w.put(whole(7, 3), true, content(75)), put::invalid);
    EXPECT_EQ(w.put(whole(0, 3), true, content(70)), put::bad);  // too short
    EXPECT_EQ(w.state(0), frame_state::pending);
}

TEST(ReceiveWindow, ReleasedFramesCountAsThere) {
    receive_window w(radio, false);
    w.extend(5);
    for (frame_sn sn = 0; sn < 3; ++sn) w.put(whole(sn, 1), true, content(21));
    w.release(3);
    EXPECT_EQ(w.first(), 3);
    EXPECT_TRUE(w.has(whole(2, 1)));
    EXPECT_EQ(w.put(whole(2, 1), true, content(21)), put::duplicate);
    EXPECT_FALSE(w.has(whole(3, 1)));
}

}  // namespace
}  // namespace wip
