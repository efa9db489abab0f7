// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <stdexcept>

#include "rlc/segmenter.h"
#include "types/frame.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

std::vector<std::uint8_t> bytes(std::size_t n, std::uint8_t first) {
    std::vector<std::uint8_t> p(n);
    for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<std::uint8_t>(first + i);
    return p;
}

TEST(Segmenter, PackingFillsAFrameAcrossPacketsAndPadsTheLastWithZeros) {
    segmenter s(true);
    s.push(bytes(3, 0x10));
    s.push(bytes(2, 0x20));
    std::vector<std::uint8_t> out(4, 0xff);
    auto c = s.take(7, out);  // 7 of the 10 nibbles
    EXPECT_EQ(out, (std::vector<std::uint8_t>{0x10, 0x11, 0x12, 0x20}));
    EXPECT_EQ(c.nibbles, 7);
    EXPECT_EQ(c.first_sdu, 0);
    EXPECT_EQ(c.end_sdu, 2);
    EXPECT_EQ(c.end_cut, 1);
    c = s.take(7, out);
    EXPECT_EQ(out, (std::vector<std::uint8_t>{0x02, 0x10, 0, 0}));
    EXPECT_EQ(c.nibbles, 3);
    EXPECT_EQ(c.first_sdu, 1);
    EXPECT_EQ(c.end_cut, 2);
    EXPECT_TRUE(s.empty());
}

TEST(Segmenter, WithoutPackingEveryPacketStartsAFrame) {
    segmenter s(false);
    s.push(bytes(3, 0x10));
    s.push(bytes(2, 0x20));
    std::vector<std::uint8_t> out(4, 0xff);
    auto c = s.take(7, out);
    EXPECT_EQ(out, (std::vector<std::uint8_t>{0x10, 0x11, 0x12, 0}));
    EXPECT_EQ(c.nibbles, 6);
    EXPECT_EQ(c.end_sdu, 1);
    c = s.take(7, out);
    EXPECT_EQ(out, (std::vector<std::uint8_t>{0x20, 0x21, 0, 0}));
    EXPECT_EQ(c.first_sdu, 1);
}

// Every frame size of the link, every packet size up to 60 bytes, both packing modes.
TEST(Segmenter, NoNibbleIsLostDoubledOrMovedForAnySizeOfFrameAndPacket) {
    for (const auto profile : {link_profile::radio, link_profile::wipemu})
        for (int k = 1; k <= 8; ++k)
            for (const bool packing : {true, false})
                for (std::size_t size = 1; size <= 60; ++size) {
                    const int n = frame_payload_nibbles(profile, k);
                    segmenter s(packing);
                    std::vector<std::uint8_t> sent, got;
                    for (std::uint8_t i = 0; i < 5; ++i) {
                        const auto p = bytes(size + i, i);
                        s.push(p);
                        for (std::size_t j = 0; j < 2 * p.size(); ++j)
                            sent.push_back(get_nibble(p.data(), j));
                    }
                    std::vector<std::uint8_t> out(static_cast<std::size_t>(n + 1) / 2);
                    int frames = 0;
                    while (!s.empty()) {
                        const auto c = s.take(n, out);
                        ++frames;
                        for (int j = 0; j < n; ++j) {
                            const auto v = get_nibble(out.data(), static_cast<std::size_t>(j));
                            if (j < c.nibbles)
                                got.push_back(v);
                            else
                                ASSERT_EQ(v, 0);
                        }
                    }
                    ASSERT_EQ(got, sent);
                    const auto total = static_cast<int>(sent.size());
                    if (packing) {
                        ASSERT_EQ(frames, (total + n - 1) / n);
                    }
                }
}

TEST(Segmenter, APacketCountsUntilItsLastNibbleIsCut) {
    segmenter s(true);
    s.push(bytes(10, 0));
    s.push(bytes(10, 0));
    EXPECT_EQ(s.nibbles(), 40);
    std::vector<std::uint8_t> out(5);
    s.take(10, out);
    EXPECT_EQ(s.packets(), 2U);
    EXPECT_EQ(s.nibbles(), 30);
    s.take(10, out);
    EXPECT_EQ(s.packets(), 1U);
    EXPECT_EQ(s.bytes(), 10U);
    EXPECT_EQ(s.nibbles(), 20);
}

TEST(Segmenter, BadPacketsAreRefused) {
    segmenter s(true);
    EXPECT_THROW(s.push({}), std::invalid_argument);
    EXPECT_THROW(s.push(bytes(65576, 0)), std::invalid_argument);
}

}  // namespace
}  // namespace wip
