// SPDX-License-Identifier: GPL-3.0-or-later
// A record of one slot of the base station's MAC, for observers: its plan and the outcome of each
// frame.
#pragma once

#include <array>
#include <cstdint>

#include "types/grant.h"
#include "types/grid.h"

namespace wip {

struct slot_record {
    slot air{-1};                                          // -1: nothing recorded
    std::array<std::uint8_t, nof_bins> bits_per_symbol{};  // 0: the bin carried nothing
    std::array<std::uint8_t, nof_bins> retransmissions{};  // of the unit in the bin, 0: new
    // Packet boundary of a new frame (types/grant.h), also when the grant had no room for it.
    std::array<std::uint8_t, nof_bins> boundary{};
    std::array<float, nof_bins> predicted_snr_db{};  // those that the plan is based on
    bool predicted = false;                          // there was a prediction
    std::uint32_t queued_packets = 0;  // packets with a part never sent, after planning
    std::uint64_t queued_bytes = 0;    // bytes of these packets
    // Known when the slot is resolved, a retransmission delay later.
    bool heard = false;              // the terminal decoded the grant, and reported it in time
    std::uint32_t acknowledged = 0;  // bit b: bin b
};

}  // namespace wip
