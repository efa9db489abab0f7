// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cstdint>

#include "simulator/counting_socket.h"

namespace wip::simulator {
namespace {

// Sequence numbers have 32 bits.
TEST(CountingSocket, what_is_acknowledged_counts_on_beyond_four_gigabytes) {
    struct bare final : counting_socket {
        using counting_socket::evaluate, counting_socket::m_txBuffer;
    };
    const auto socket = ns3::CreateObject<bare>();
    ns3::TcpHeader header;
    for (const std::uint32_t ack :
         {0x40000000U, 0x80000000U, 0xc0000000U, 0xfffffff0U, 0x10U, 0x10U}) {
        header.SetAckNumber(ns3::SequenceNumber32(ack));
        socket->evaluate(header);
        socket->m_txBuffer->SetHeadSequence(ns3::SequenceNumber32(ack));
    }
    EXPECT_EQ(socket->bytes_acknowledged(), 0x100000010U);
}

}  // namespace
}  // namespace wip::simulator
