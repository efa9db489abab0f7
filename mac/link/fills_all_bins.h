// SPDX-License-Identifier: GPL-3.0-or-later
// Whether the waiting data need every bin of a slot, in whichever order the bins are given out.
//
// A bin takes its payload from one piece and leaves the rest of it empty when the piece ends, so a
// piece of p nibbles takes ceil(p / m) bins or more when no bin holds more than m nibbles. Where
// the pieces take `nof_bins` bins or more at the largest m, best_bins() gives all bins, and the
// order of their SNR does not matter.
#pragma once

#include <algorithm>
#include <cstddef>

#include "link/scheduling_view.h"
#include "types/frame.h"

namespace wip {

constexpr bool fills_all_bins(const scheduling_view& view, link_profile profile) {
    const int most = frame_payload_nibbles(profile, max_bits_per_symbol);
    int bins = 0;
    for (int i = 0; i < view.nof_pieces && bins < nof_bins; ++i) {
        const int piece = std::max(view.piece[static_cast<std::size_t>(i)], 1);
        bins += std::min((piece - 1) / most + 1, nof_bins);
    }
    return bins >= nof_bins;
}

}  // namespace wip
