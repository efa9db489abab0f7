// SPDX-License-Identifier: GPL-3.0-or-later
// The plan of a slot as macd's message states it. The message is not trusted: bins and grant are
// checked.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "schema/slot_link.pb.h"
#include "types/grant.h"

namespace wip {

struct planned_slot {
    slot_grant grant;
    packed_grant packed;                                          // the same in its 30 bytes
    std::array<std::span<const std::uint8_t>, nof_bins> payload;  // these point into the message
};

// nullopt: the message is no valid plan.
std::optional<planned_slot> read_plan(const openwip::slot_link::SlotPlan& plan);

}  // namespace wip
