// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "rlc/unit.h"

namespace wip {
namespace {

constexpr link_profile both[] = {link_profile::radio, link_profile::wipemu};

TEST(ArqUnit, TheLowestModulationIsTheLowestThatHoldsTheNibbles) {
    for (const auto p : both)
        for (int n = 1; n <= frame_payload_nibbles(p, 8); ++n) {
            const int k = lowest_modulation(p, n);
            ASSERT_GE(frame_payload_nibbles(p, k), n);
            if (k > 1) {
                ASSERT_LT(frame_payload_nibbles(p, k - 1), n);
            }
        }
}

// The test covers all frames and all offsets at which a last fragment may start.
TEST(ArqUnit, TheLastFragmentTellsTheLengthOfItsFrame) {
    for (const auto p : both)
        for (int frame_k = 1; frame_k <= 8; ++frame_k)
            for (int offset = 0; offset < frame_payload_nibbles(p, frame_k); ++offset) {
                const int rest = frame_payload_nibbles(p, frame_k) - offset;
                const int k = lowest_modulation(p, rest);
                ASSERT_EQ(frame_modulation_of_last(p, offset, k), frame_k)
                    << "offset " << offset << ", k " << k;
            }
}

TEST(ArqUnit, WhatCannotBeALastFragmentIsRefused) {
    for (const auto p : both)
        for (int offset = 0; offset < 256; ++offset)
            for (int k = 0; k <= 9; ++k) {
                const int frame_k = frame_modulation_of_last(p, offset, k);
                if (frame_k == 0) continue;
                const int rest = frame_payload_nibbles(p, frame_k) - offset;
                ASSERT_GT(rest, 0);
                ASSERT_EQ(lowest_modulation(p, rest), k);
            }
    EXPECT_EQ(frame_modulation_of_last(link_profile::radio, 255, 1), 0);
    EXPECT_EQ(frame_modulation_of_last(link_profile::radio, 21, 1), 0);
}

}  // namespace
}  // namespace wip
