// SPDX-License-Identifier: GPL-3.0-or-later
// A link frame is the payload of one bin in one slot: 108 k bits. All sizes are multiples of four
// bits, so segmentation counts in nibbles and never splits one. In the `radio` profile the last 24
// bits are the frame's CRC, which the PHY appends and checks; in `wipemu` detection is ideal and
// costs nothing (docs/reference/air-interface.md).
#pragma once

#include <cstdint>

#include "types/grid.h"

namespace wip {

enum class link_profile : std::uint8_t { wipemu, radio };

inline constexpr int frame_crc_bits = 24;

constexpr int frame_bits(int bits_per_symbol) { return payload_symbols_per_bin * bits_per_symbol; }

// Bits of a frame that carry SDU data.
constexpr int frame_payload_bits(link_profile p, int bits_per_symbol) {
    return frame_bits(bits_per_symbol) - (p == link_profile::radio ? frame_crc_bits : 0);
}

constexpr int frame_payload_nibbles(link_profile p, int bits_per_symbol) {
    return frame_payload_bits(p, bits_per_symbol) / 4;
}

// Bytes that hold a frame's payload, four-bit granularity: the high nibble of a byte comes first;
// when the number of nibbles is odd the low nibble of the last byte is zero.
constexpr int frame_payload_bytes(link_profile p, int bits_per_symbol) {
    return (frame_payload_nibbles(p, bits_per_symbol) + 1) / 2;
}

// Link frame sequence number, 16 bits on the air; memory uses the unwrapped 64-bit value.
using wire_sn = std::uint16_t;
using frame_sn = std::int64_t;

}  // namespace wip
