// SPDX-License-Identifier: GPL-3.0-or-later
// Slots without a macd: the same bins with the same modulation in every slot, every frame new, SN
// counting up from 0. The content of a frame is a function of seed and SN only, so whoever knows
// both can check it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "types/frame.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip {

struct test_pattern_config {
    int modulation = 2;     // bits per symbol 1..8
    std::vector<int> bins;  // ascending, 0..24; empty: all
    std::uint64_t seed = 1;
};

class test_pattern {
public:
    static constexpr link_profile profile = link_profile::radio;

    explicit test_pattern(const test_pattern_config& config);  // throws std::invalid_argument

    // Content of the next slot, which is going out as slot `air`.
    void next(slot air);
    const slot_grant& grant() const { return grant_; }
    const std::array<std::span<const std::uint8_t>, nof_bins>& payload() const { return payload_; }

    // Nibble-packed payload of frame `sn` (frame_payload_bytes(profile, bits_per_symbol) bytes).
    static void frame_content(std::uint64_t seed, wire_sn sn, int bits_per_symbol,
                              std::span<std::uint8_t> out);

private:
    test_pattern_config config_;
    slot_grant grant_;
    std::vector<std::uint8_t> bytes_;
    std::array<std::span<const std::uint8_t>, nof_bins> payload_{};
    wire_sn next_sn_ = 0;
};

}  // namespace wip
