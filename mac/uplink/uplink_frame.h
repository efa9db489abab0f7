// SPDX-License-Identifier: GPL-3.0-or-later
// The first byte of an uplink frame: its SDU boundary (docs/reference/air-interface.md).
//
//   0         no packet begins in it, and no padding
//   1..208    the nibble v - 1 of the stream is the first at which a packet or padding begins
//   255       the frame carries nothing: in the stream it has no length
//
// Other values, and a boundary beyond the frame's end, come from no terminal.
#pragma once

#include <cstdint>
#include <optional>

#include "rlc/unit.h"
#include "types/grant.h"

namespace wip {

inline constexpr int uplink_header_nibbles = 2;

constexpr stream_room uplink_room(link_profile p) { return {p, uplink_header_nibbles}; }

inline constexpr std::uint8_t empty_uplink_frame = 255;

// The code of a boundary (types/grant.h: a nibble, or no_boundary).
constexpr std::uint8_t uplink_boundary_code(std::uint8_t boundary) {
    return boundary == no_boundary ? std::uint8_t{0} : static_cast<std::uint8_t>(boundary + 1);
}

struct uplink_frame_header {
    bool empty = false;
    std::uint8_t boundary = no_boundary;
};
// nullopt: no terminal would write it in a frame of k bits per symbol.
std::optional<uplink_frame_header> read_uplink_frame_header(std::uint8_t code, link_profile p,
                                                            int bits_per_symbol);

}  // namespace wip
