// SPDX-License-Identifier: GPL-3.0-or-later
// The one pseudo-random sequence of the air interface. Word i of the sequence of a key is the
// output function of SplitMix64 (Steele, Lea, Flood 2014) applied to key + (i+1) * golden ratio:
// any word is reached without the ones before it, 64 bits cost about a nanosecond, and an
// independent implementation is five lines. Bits are taken most significant first.
//
// It makes the pilots (cell, slot in frame), the scrambling of the control region (cell, slot in
// frame) and the scrambling of the payload (cell, terminal, SN, offset). The payload's does not
// depend on the slot, so that a retransmitted unit has the same symbols and can be combined;
// scrambling keeps runs of zeros in IP packets from becoming one strong tone.
#pragma once

#include <cstdint>

#include "types/frame.h"

namespace wip::phy {

inline constexpr int nof_cells = 64;

constexpr std::uint64_t sequence_word(std::uint64_t key, unsigned i) {
    std::uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

constexpr std::uint64_t pilot_key(int cell, int slot_in_frame) {
    return 1ULL << 56 | static_cast<std::uint64_t>(cell) << 48 |
           static_cast<std::uint64_t>(slot_in_frame);
}
constexpr std::uint64_t control_key(int cell, int slot_in_frame) {
    return 2ULL << 56 | static_cast<std::uint64_t>(cell) << 48 |
           static_cast<std::uint64_t>(slot_in_frame);
}
// Of a cell with several terminals (types/common_grant.h).
constexpr std::uint64_t common_control_key(int cell, int slot_in_frame) {
    return 4ULL << 56 | static_cast<std::uint64_t>(cell) << 48 |
           static_cast<std::uint64_t>(slot_in_frame);
}
// `terminal`: 0 to 7, 0 in a cell with one.
constexpr std::uint64_t payload_key(int cell, wire_sn sn, int offset, int terminal = 0) {
    return 3ULL << 56 | static_cast<std::uint64_t>(cell) << 48 |
           static_cast<std::uint64_t>(terminal) << 40 | static_cast<std::uint64_t>(sn) << 8 |
           static_cast<std::uint64_t>(offset);
}

}  // namespace wip::phy
