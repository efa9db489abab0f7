// SPDX-License-Identifier: GPL-3.0-or-later
// A link frame as a packet of LINKTYPE_WIRESHARK_UPPER_PDU: tags that name the dissector, then this
// header (numbers big-endian), then the payload. The dissector that reads it:
// wireshark/openwip.lua.
//
//   0  u8   version 2
//   1  u8   0: sent by the base station, 1: received by a terminal
//   2  u8   bin
//   3  u8   bits per symbol
//   4  u8   flags: 1 whole frame, 2 reaches the end of the frame, 4 decided after combining,
//           8 retransmission, 16 the window edge is known
//   5  u8   outcome: 0 none, 1 good, 2 bad, 3 unknown (the grant was lost)
//   6  u16  SN
//   8  i64  slot
//  16  u16  user
//  18  u8   offset, nibbles
//  19  u8   retransmissions so far, at the base station
//  20  u16  payload, bits
//  22  u16  window edge: frames with an older SN will not come (again)
//  24  f32  SNR, dB: predicted (sent), measured (received)
//  28  u16  number n of IP packets that have a part in the frame, 0: not known
//  30  u8   packet border of a new frame sent: a nibble of it; 254: none, 255: not known
//  31  u8   zero
//  32  u64  n packet numbers, as in the telemetry topic `packet`
//   .       payload: the high nibble of a byte first
#pragma once

#include <cstdint>
#include <optional>

#include "capture/frame_columns.h"
#include "capture/pcapng_blocks.h"

namespace wip::capture {

inline constexpr std::uint16_t link_type_raw_ip = 101;     // LINKTYPE_RAW of tcpdump.org
inline constexpr std::uint16_t link_type_upper_pdu = 252;  // LINKTYPE_WIRESHARK_UPPER_PDU
inline constexpr std::uint8_t frame_header_version = 2;
inline constexpr std::size_t dissector_tag_bytes = 16;

enum class frame_place : std::uint8_t { sent = 0, received = 1 };

// The oldest SN that the sender still holds, of the 30 bytes of a grant; nullopt when there is no
// grant.
std::optional<std::uint16_t> window_edge_of(const std::string& grant);

void append_frame(byte_buffer& out, frame_place place, std::int64_t slot, std::uint16_t user,
                  std::optional<std::uint16_t> window_edge, const link_frame& frame);

}  // namespace wip::capture
