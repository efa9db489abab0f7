// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "packets.h"
#include "wire/ip_header.h"

namespace wip {
namespace {

TEST(IpHeader, TheChecksumOfRfc1071sExampleIsRight) {
    const std::uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    EXPECT_EQ(internet_sum(data), 0xddf2U);
}

TEST(IpHeader, AnIpv4HeaderOfTheLiteratureIsRead) {
    // Wikipedia's example of the IPv4 header checksum: 0xb861.
    const std::uint8_t data[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                                 0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
    const auto h = read_ip_header(data);
    ASSERT_TRUE(h);
    EXPECT_EQ(h->version, 4);
    EXPECT_EQ(h->header_bytes, 20U);
    EXPECT_EQ(h->total_bytes, 115U);
}

TEST(IpHeader, EverySingleBitErrorInAnIpv4HeaderIsSeen) {
    const auto good = test::ipv4(100);
    for (std::size_t bit = 0; bit < 160; ++bit) {
        auto bad = good;
        bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ (1 << bit % 8));
        const auto h = read_ip_header(bad);
        // An error of the version may make another protocol of it, which has no such checksum.
        if (h) {
            EXPECT_EQ(h->version, 6) << bit;
        }
    }
}

TEST(IpHeader, OptionsBelongToTheHeaderAndItsChecksum) {
    std::vector<std::uint8_t> p(80, 0);
    p[0] = 0x4f;
    p[3] = 80;
    p[8] = 1;
    p[40] = 0x77;
    const std::uint32_t sum = ~internet_sum(std::span(p).first(60));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    ASSERT_TRUE(read_ip_header(p));
    EXPECT_EQ(read_ip_header(p)->header_bytes, 60U);
    p[59] ^= 1;
    EXPECT_FALSE(read_ip_header(p));
}

TEST(IpHeader, WhatIsNoHeaderIsRefused) {
    EXPECT_FALSE(read_ip_header({}));
    for (int first = 0; first < 256; ++first) {
        std::vector<std::uint8_t> p(60, 0);
        p[0] = static_cast<std::uint8_t>(first);
        const auto h = read_ip_header(p);
        EXPECT_EQ(h.has_value(), first >> 4 == 6) << first;
        if (ip_header_bytes(p[0]) > 0) {
            EXPECT_FALSE(read_ip_header(std::span(p).first(ip_header_bytes(p[0]) - 1)));
        }
    }
    auto shorter_than_its_header = test::ipv4(20);
    shorter_than_its_header[3] = 19;
    EXPECT_FALSE(read_ip_header(shorter_than_its_header));
}

}  // namespace
}  // namespace wip
