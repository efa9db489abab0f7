// SPDX-License-Identifier: GPL-3.0-or-later
// The number of a received slot. The air carries it modulo 4096 frames (82 s), the sample count
// gives the rest: of all numbers congruent to the one on the air, the one nearest to the slot that
// the sample time points at. Right as long as transmitter and receiver time agree within 40 s.
#pragma once

#include "phy/receiver/received_slot.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip {

inline constexpr std::int64_t hyperframe_slots =
    std::int64_t{frame_number_modulus} * slots_per_frame;

// Slot whose first sample is nearest to `start`.
constexpr slot nearest_slot(sample start) {
    return slot_of(start + sample_count(slot_samples / 2));
}

constexpr slot unwrap_slot(sample start, std::int64_t slot_in_hyperframe) {
    const std::int64_t near = nearest_slot(start).value;
    std::int64_t difference = (slot_in_hyperframe - near) % hyperframe_slots;
    if (difference < 0) difference += hyperframe_slots;
    if (difference > hyperframe_slots / 2) difference -= hyperframe_slots;
    return slot(near + difference);
}

// Unlocked, the one that the sample time says.
constexpr std::int64_t air_of(const phy::received_slot& received) {
    return received.locked ? unwrap_slot(received.start, received.slot_in_hyperframe).value
                           : nearest_slot(received.start).value;
}

}  // namespace wip
