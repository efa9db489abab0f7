// SPDX-License-Identifier: GPL-3.0-or-later
// The content of a slot's control region before it is coded, the same 30 bytes in both directions:
// a grant (types/grant.h) on the downlink, the feedback form of a terminal (wire/feedback_bits.h)
// on the uplink.
#pragma once

#include <array>
#include <cstdint>

namespace wip {

inline constexpr int control_content_bytes = 30;
using control_content = std::array<std::uint8_t, control_content_bytes>;

}  // namespace wip
