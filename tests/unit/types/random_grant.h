// SPDX-License-Identifier: GPL-3.0-or-later
// A grant with everything that a sender may write, in the bins of a set.
#pragma once

#include <cstdint>
#include <random>

#include "types/grant.h"

namespace wip {

inline slot_grant random_grant(std::mt19937& rng, int retransmissions,
                               std::uint32_t bins = (1U << nof_bins) - 1) {
    slot_grant g;
    g.frame_number = static_cast<std::uint16_t>(rng() % frame_number_modulus);
    g.first_new_sn = static_cast<wire_sn>(rng());
    g.window_edge = static_cast<std::uint16_t>(rng() % (max_window + 1));
    wire_sn next = g.first_new_sn;
    for (std::size_t n = 0; n < nof_bins; ++n) {
        auto& b = g.bins[n];
        if ((bins >> n & 1U) == 0) continue;
        b.bits_per_symbol = static_cast<std::uint8_t>(rng() % 9);
        if (b.bits_per_symbol == 0) continue;
        if (retransmissions > 0 && rng() % 3 == 0) {
            --retransmissions;
            b.retransmission = true;
            b.sn = static_cast<wire_sn>(g.first_new_sn - 1 - rng() % 200);
            b.whole = rng() % 2 == 0;
            if (!b.whole) {
                b.offset = static_cast<std::uint8_t>(rng());
                b.last = rng() % 2 == 0;
            }
        } else {
            b.sn = next++;
        }
    }
    if (rng() % 4 != 0) return g;
    // Boundaries of the first new frames, and of runs of older ones.
    int with_boundary = static_cast<int>(rng() % 4) * 4;
    for (auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || b.retransmission || with_boundary-- <= 0) continue;
        const auto nibbles =
            static_cast<unsigned>(frame_payload_nibbles(link_profile::radio, b.bits_per_symbol));
        b.boundary = rng() % 2 == 0 ? no_boundary : static_cast<std::uint8_t>(rng() % nibbles);
    }
    int back = 400;
    for (std::size_t i = 0, n = rng() % 4; i < n; ++i) {
        back -= 1 + static_cast<int>(rng() % 40);
        auto& run = g.runs[i];
        run.first = static_cast<wire_sn>(g.first_new_sn - back);
        run.frames = static_cast<std::uint16_t>(1 + rng() % 30);
        if (rng() % 3 != 0) run.boundary = static_cast<std::uint8_t>(rng() % 216 * (rng() % 2));
        back -= run.frames - 1;
    }
    return g;
}

}  // namespace wip
