// SPDX-License-Identifier: GPL-3.0-or-later
// The slot number as the air carries it: modulo a hyperframe of 4096 frames, 82 s. Among all
// numbers that fit, the one nearest to an approximate number is taken.
#pragma once

#include "types/grant.h"
#include "types/grid.h"

namespace wip {

inline constexpr std::int64_t hyperframe_slots =
    std::int64_t{frame_number_modulus} * slots_per_frame;

// Slots from `from` to the next one whose number in the hyperframe is `number`: 0 ..
// hyperframe_slots - 1.
constexpr slot_count up_to_fit(slot from, std::int64_t number) {
    const std::int64_t n = (number - from.value) % hyperframe_slots;
    return slot_count(n < 0 ? n + hyperframe_slots : n);
}

constexpr slot nearest_that_fits(slot about, std::int64_t number) {
    const slot_count up = up_to_fit(about, number);
    return about + (up.value > hyperframe_slots / 2 ? up - slot_count(hyperframe_slots) : up);
}

}  // namespace wip
