// SPDX-License-Identifier: GPL-3.0-or-later
#include "uplink/uplink_frame.h"

namespace wip {

std::optional<uplink_frame_header> read_uplink_frame_header(std::uint8_t code, link_profile p,
                                                            int bits_per_symbol) {
    if (code == empty_uplink_frame) return uplink_frame_header{true, no_boundary};
    if (code == 0) return uplink_frame_header{false, no_boundary};
    if (code > uplink_room(p).nibbles(bits_per_symbol)) return std::nullopt;
    return uplink_frame_header{false, static_cast<std::uint8_t>(code - 1)};
}

}  // namespace wip
