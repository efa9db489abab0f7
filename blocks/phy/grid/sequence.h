// SPDX-License-Identifier: GPL-3.0-or-later
// The one pseudo-random sequence of the air interface. Word i of the sequence of a key is the
// output function of SplitMix64 (Steele, Lea, Flood 2014) applied to key + (i+1) * golden ratio:
// any word is reached without the ones before it, 64 bits cost about a nanosecond, and an
// independent implementation is five lines. Bits are taken most significant first.
//
// It makes the pilots (sender, slot in frame), the scrambling of the control region (sender, slot
// in frame) and the scrambling of the payload (sender, terminal, SN, offset). The payload's does
// not depend on the slot, so that a retransmitted unit has the same symbols and can be combined;
// scrambling keeps runs of zeros in IP packets from becoming one strong tone.
#pragma once

#include <cstdint>

#include "phy/grid/sender.h"
#include "types/frame.h"

namespace wip::phy {

constexpr std::uint64_t sequence_word(std::uint64_t key, unsigned i) {
    std::uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// `kind`: 1 pilots, 2 control region, 3 payload; on the uplink four more.
constexpr std::uint64_t sequence_key(std::uint64_t kind, sender from, std::uint64_t low) {
    return (from.uplink ? kind + 4 : kind) << 56 | static_cast<std::uint64_t>(from.cell) << 48 |
           static_cast<std::uint64_t>(from.terminal) << 40 | low;
}
constexpr std::uint64_t pilot_key(sender from, int slot_in_frame) {
    return sequence_key(1, from, static_cast<std::uint64_t>(slot_in_frame));
}
constexpr std::uint64_t control_key(sender from, int slot_in_frame) {
    return sequence_key(2, from, static_cast<std::uint64_t>(slot_in_frame));
}
// The same in a cell with several terminals (types/common_grant.h).
constexpr std::uint64_t common_control_key(int cell, int slot_in_frame) {
    return sequence_key(4, cell, static_cast<std::uint64_t>(slot_in_frame));
}
constexpr std::uint64_t payload_key(sender from, wire_sn sn, int offset) {
    return sequence_key(3, from,
                        static_cast<std::uint64_t>(sn) << 8 | static_cast<std::uint64_t>(offset));
}

}  // namespace wip::phy
