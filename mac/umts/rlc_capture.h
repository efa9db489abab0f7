// SPDX-License-Identifier: GPL-3.0-or-later
// PDUs of the RLC for other programs: each in the UDP framing that Wireshark's heuristic dissector
// knows (epan/dissectors/packet-rlc.h; enable it: --enable-heuristic rlc_udp), in an IPv4 packet.
//
//   "umts-rlc" | 2 logical channel, if `user_data` | 3 mode | 4 direction | 5 U-RNTI (4 octets)
//   | 6 radio bearer | 7 size of LIs | 1 PDU
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "umts/pdu.h"

namespace wip::umts {

struct rlc_channel {
    rlc_mode mode = rlc_mode::acknowledged;
    bool downlink = true;
    // The terminal's address is 10.42.0.(1 + urnti), the network's 10.42.0.1.
    std::uint32_t urnti = 1;
    std::uint8_t radio_bearer = 5;
    bool wide_li = false;  // 15 bits
    // Says that SDUs are IP packets, which are dissected then. A capture that has them at the IP
    // interfaces anyway does not say so, or each would be counted twice.
    bool user_data = false;
};

// The channel of a PDU of that size, of the nth user's bearer, counted from 0.
rlc_channel channel_of(rlc_mode mode, bool downlink, int user, std::size_t pdu_bytes);

// The IPv4 packet with the framed PDU, into `out`, which is emptied first.
void frame_pdu(const rlc_channel& channel, std::span<const std::uint8_t> pdu,
               std::vector<std::uint8_t>& out);

}  // namespace wip::umts
