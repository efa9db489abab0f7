// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "queue_packets.h"
#include "wire/ecn.h"

namespace wip {
namespace {

TEST(Ecn, AMarkChangesTheFieldAndTheChecksumStaysRight) {
    for (const ecn from : {ecn::ect_0, ecn::ect_1, ecn::ce})
        for (int dscp = 0; dscp < 64; ++dscp) {
            auto p = test::udp(100, from);
            p[1] = static_cast<std::uint8_t>(p[1] | dscp << 2);
            p[10] = p[11] = 0;
            const auto sum = static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20)));
            p[10] = static_cast<std::uint8_t>(sum >> 8);
            p[11] = static_cast<std::uint8_t>(sum);
            auto want = p;
            ASSERT_TRUE(mark_congestion(p));
            EXPECT_EQ(read_ecn(p), ecn::ce);
            EXPECT_EQ(p[1] >> 2, dscp);
            EXPECT_TRUE(read_ip_header(p));
            // Only these octets have changed.
            want[1] = p[1], want[10] = p[10], want[11] = p[11];
            EXPECT_EQ(p, want);
        }
}

TEST(Ecn, OfIpv6TheTrafficClassIsMarkedAndNothingElse) {
    auto p = test::udp6(100, ecn::ect_1);
    p[0] |= 0x0a, p[1] |= 0xc7;  // DSCP and flow label beside it
    auto want = p;
    want[1] |= 0x30;
    ASSERT_TRUE(mark_congestion(p));
    EXPECT_EQ(p, want);
    EXPECT_EQ(read_ecn(p), ecn::ce);
}

TEST(Ecn, APacketWhoseSenderDoesNotReactIsNotTouched) {
    for (auto p : {test::udp(60), test::udp6(60), std::vector<std::uint8_t>{0x45, 0x03},
                   std::vector<std::uint8_t>{}, std::vector<std::uint8_t>(30, 0xff)}) {
        const auto before = p;
        EXPECT_FALSE(mark_congestion(p));
        EXPECT_EQ(p, before);
        EXPECT_EQ(read_ecn(p), ecn::not_ect);
    }
}

TEST(Ecn, AFlowHasOneHashAndAllFragmentsOfAPacketHaveOne) {
    EXPECT_EQ(flow_hash(test::udp(100, ecn::not_ect, 5), 1),
              flow_hash(test::udp(300, ecn::ce, 5), 1));
    EXPECT_NE(flow_hash(test::udp(100, ecn::not_ect, 5), 1),
              flow_hash(test::udp(100, ecn::not_ect, 6), 1));
    EXPECT_NE(flow_hash(test::udp(100, ecn::not_ect, 5), 1),
              flow_hash(test::udp(100, ecn::not_ect, 5), 2));
    EXPECT_NE(flow_hash(test::udp6(100, ecn::not_ect, 5), 1),
              flow_hash(test::udp6(100, ecn::not_ect, 6), 1));
    auto first = test::udp(100, ecn::not_ect, 5), second = first;
    first[6] = 0x20;  // the flag "more fragments"
    second[7] = 12;   // a fragment offset
    second[20] = 0x77;
    EXPECT_EQ(flow_hash(first, 1), flow_hash(second, 1));
}

}  // namespace
}  // namespace wip
