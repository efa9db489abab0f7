// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <random>

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

TEST(IpHeader, TheTransportChecksumVouchesForAnIpv6Packet) {
    const auto good = test::ipv6_udp(333);
    EXPECT_TRUE(plausible_ip_header(good));
    EXPECT_TRUE(ipv6_transport_checksum_ok(good));
    for (const std::size_t byte : {4U, 5U, 8U, 39U, 40U, 46U, 100U, 332U}) {
        auto bad = good;
        bad[byte] ^= 0x10;
        EXPECT_FALSE(ipv6_transport_checksum_ok(bad)) << byte;
    }
    EXPECT_FALSE(ipv6_transport_checksum_ok(std::span(good).first(332)));
    EXPECT_FALSE(ipv6_transport_checksum_ok(test::ipv4(100)));
}

TEST(IpHeader, AnIpv6HeaderWithAnUnknownNextHeaderOrNoHopsIsNotPlausible) {
    auto p = test::ipv6_udp(100);
    p[6] = 200;
    EXPECT_FALSE(plausible_ip_header(p));
    p[6] = 6;
    EXPECT_TRUE(plausible_ip_header(p));
    p[7] = 0;
    EXPECT_FALSE(plausible_ip_header(p));
}

TEST(IpHeader, OfRandomBitsBehindARightIpv4ChecksumFewArePlausible) {
    std::mt19937 random(3);
    int plausible = 0;
    constexpr int tried = 100000;
    for (int i = 0; i < tried; ++i) {
        auto p = test::ipv4(20);
        for (std::size_t b = 4; b < 20; ++b) p[b] = static_cast<std::uint8_t>(random());
        p[10] = p[11] = 0;
        const std::uint32_t sum = ~internet_sum(p);
        p[10] = static_cast<std::uint8_t>(sum >> 8);
        p[11] = static_cast<std::uint8_t>(sum);
        ASSERT_TRUE(read_ip_header(p));
        plausible += plausible_ip_header(p) ? 1 : 0;
    }
    // 17 of 256 protocols, 255 of 256 TTLs, 1 of 2 flags: 3307 of them, five deviations of 57.
    EXPECT_NEAR(plausible, tried * (17.0 / 256) * (255.0 / 256) / 2, 5 * 57);
    EXPECT_TRUE(plausible_ip_header(test::ipv4(100)));
}

}  // namespace
}  // namespace wip
