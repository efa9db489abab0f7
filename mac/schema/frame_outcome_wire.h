// SPDX-License-Identifier: GPL-3.0-or-later
// The one conversion between a frame's outcome and its number in messages: the field `outcome` of
// slot_link.BinReport, and the bytes `outcome` of the telemetry topics `slot` and `frames`.
#pragma once

#include <cstdint>
#include <optional>

#include "schema/slot_link.pb.h"
#include "types/frame_outcome.h"

namespace wip {

constexpr openwip::slot_link::Outcome outcome_to_wire(frame_outcome outcome) {
    switch (outcome) {
        case frame_outcome::unused:
            return openwip::slot_link::UNUSED;
        case frame_outcome::good:
            return openwip::slot_link::GOOD;
        case frame_outcome::bad:
            return openwip::slot_link::BAD;
        case frame_outcome::unknown:
            break;
    }
    return openwip::slot_link::UNKNOWN;
}

// The outcome as a byte of a telemetry column.
constexpr char outcome_byte(frame_outcome outcome) {
    return static_cast<char>(outcome_to_wire(outcome));
}

// Returns nullopt for a number that names no outcome.
constexpr std::optional<frame_outcome> outcome_from_wire(int number) {
    switch (number) {
        case openwip::slot_link::UNUSED:
            return frame_outcome::unused;
        case openwip::slot_link::GOOD:
            return frame_outcome::good;
        case openwip::slot_link::BAD:
            return frame_outcome::bad;
        case openwip::slot_link::UNKNOWN:
            return frame_outcome::unknown;
        default:
            return std::nullopt;
    }
}

}  // namespace wip
