// SPDX-License-Identifier: GPL-3.0-or-later
// The outcome of the link frame in one bin of a slot: the receiver's, the MAC's and the models' one
// enum. On the wire it is openwip.slot_link.Outcome (schema/frame_outcome_wire.h).
#pragma once

#include <cstdint>

namespace wip {

enum class frame_outcome : std::uint8_t {
    unused,   // the bin carried nothing
    good,     // the CRC passed (radio), or all symbols were right (wipemu)
    bad,      // the CRC failed
    unknown,  // the grant of the slot was not decoded
};

}  // namespace wip
