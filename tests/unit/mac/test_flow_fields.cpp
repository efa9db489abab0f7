// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "packets.h"
#include "wire/flow_fields.h"

namespace wip {
namespace {

TEST(FlowFields, UdpAndTcpOverIpv4AndIpv6) {
    auto p = test::ipv4(60, 0);
    p[4] = 0x12;
    p[5] = 0x34;
    p[20] = 0x14;
    p[21] = 0x51;
    p[22] = 0x9c;
    p[23] = 0xa8;
    EXPECT_EQ(read_flow_fields(p), (flow_fields{17, 0x1234, 5201, 40104, 0}));
    p[9] = 6;
    p[24] = 0xde;
    p[25] = 0xad;
    p[26] = 0xbe;
    p[27] = 0xef;
    EXPECT_EQ(read_flow_fields(p), (flow_fields{6, 0x1234, 5201, 40104, 0xdeadbeef}));
    EXPECT_EQ(read_flow_fields(test::ipv6_udp(60)), (flow_fields{17, 0, 9, 9, 0}));
}

TEST(FlowFields, OptionsMoveThePorts) {
    auto p = test::ipv4(60, 0);
    p[0] = 0x46;
    p[25] = 7;
    EXPECT_EQ(read_flow_fields(p).source_port, 7);
}

TEST(FlowFields, ALaterFragmentHasNoPorts) {
    auto p = test::ipv4(60, 0x11);
    p[6] = 0;
    p[7] = 1;
    EXPECT_EQ(read_flow_fields(p).protocol, 17);
    EXPECT_EQ(read_flow_fields(p).source_port, 0);
}

TEST(FlowFields, WhatIsShortOrNoPacketGivesZerosAndReadsNothingBeyond) {
    auto p = test::ipv4(60, 0x11);
    p[9] = 6;
    for (std::size_t n = 0; n <= p.size(); ++n) {
        const std::vector<std::uint8_t> cut(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(n));
        const auto f = read_flow_fields(cut);
        EXPECT_EQ(f.protocol, n >= 20 ? 6 : 0) << n;
        EXPECT_EQ(f.source_port, n >= 24 ? 0x1111 : 0) << n;
        EXPECT_EQ(f.tcp_sequence, n >= 28 ? 0x11111111U : 0U) << n;
    }
    EXPECT_EQ(read_flow_fields(std::vector<std::uint8_t>(40, 0)), flow_fields{});
    EXPECT_EQ(read_flow_fields(std::vector<std::uint8_t>(40, 0xff)), flow_fields{});
}

}  // namespace
}  // namespace wip
