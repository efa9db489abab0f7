// SPDX-License-Identifier: GPL-3.0-or-later
// The record of a slot that the base station's MAC sent, until the terminal's feedback about it is
// due.
#pragma once

#include <array>
#include <cstdint>

#include "rlc/unit.h"
#include "types/grant.h"
#include "types/grid.h"

namespace wip {

struct sent_slot {
    std::array<arq_unit, nof_bins> unit{};
    std::uint32_t used = 0;  // bit b: bin b carried unit[b]
    // Boundaries that the grant carried: those of the first `reported` of the `fresh` new frames
    // from first_new on, and those of older frames.
    frame_sn first_new = 0;
    int fresh = 0, reported = 0;
    std::array<boundary_run, most_boundary_runs> runs{};
    bool section = false;  // the terminal had a section of a common grant
    bool full = false;     // the section carried the window edge

    bool carried(std::size_t bin) const { return (used >> bin & 1U) != 0; }
    int modulation(std::size_t bin) const { return carried(bin) ? unit[bin].bits_per_symbol : 0; }
    std::uint8_t repeated(std::size_t bin) const {
        return carried(bin) ? unit[bin].retransmissions : std::uint8_t{0};
    }
};

}  // namespace wip
