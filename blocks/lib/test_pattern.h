// SPDX-License-Identifier: GPL-3.0-or-later
// The content of slots when there is no macd: the same bins with the same modulation in every slot.
// The content of a frame is a function of seed and SN only, so a receiver that knows both can check
// it.
//
// With one transmission every frame is new, and SNs count up from 0. With n transmissions the slots
// come in groups of 3 n: three slots of new frames, then n - 1 times the same three as
// retransmissions, received or not (3 slots is the retransmission delay of the air interface).
// Which transmission a slot holds follows from its number alone: slot % (3 n) / 3.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "types/frame.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip {

struct test_pattern_config {
    int modulation = 2;     // bits per symbol 1..8
    std::vector<int> bins;  // ascending, 0..24; empty: all
    std::uint64_t seed = 1;
    int transmissions = 1;  // how often each frame is sent, 1..8
};

class test_pattern {
public:
    static constexpr link_profile profile = link_profile::radio;
    static constexpr int loop_slots = 3;
    static constexpr int most_transmissions = 8;

    explicit test_pattern(const test_pattern_config& config);  // throws std::invalid_argument

    // Content of the next slot, which is going out as slot `air`.
    void next(slot air);
    // Sets the modulation of the slots to come; throws and changes nothing.
    void set_modulation(int bits_per_symbol) { set_slot(bits_per_symbol, config_.bins); }
    void set_bins(std::vector<int> bins) { set_slot(config_.modulation, std::move(bins)); }
    const slot_grant& grant() const { return grant_; }
    const std::array<std::span<const std::uint8_t>, nof_bins>& payload() const { return payload_; }

    // Nibble-packed payload of frame `sn` (frame_payload_bytes(profile, bits_per_symbol) bytes).
    static void frame_content(std::uint64_t seed, wire_sn sn, int bits_per_symbol,
                              std::span<std::uint8_t> out);

private:
    void set_slot(int modulation, std::vector<int> bins);
    void number_frames(slot air);

    test_pattern_config config_;
    slot_grant grant_;
    std::vector<std::uint8_t> bytes_;
    std::array<std::span<const std::uint8_t>, nof_bins> payload_{};
    wire_sn next_sn_ = 0;
};

}  // namespace wip
