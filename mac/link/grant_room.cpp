// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/grant_room.h"

namespace wip {

int grant_room::put_boundaries(slot_grant& grant, const transmit_window& window, frame_sn first,
                               int new_frames, int bits_without) const {
    // Fills in the boundaries of the first frames; false if the grant then has too many bits.
    const auto fits_with = [&](int reported) {
        frame_sn sn = first;
        // An upper bound, with 8 bits a boundary.
        int most_bits = bits_without + 8 + 2 * new_frames;
        for (bin_grant& g : grant.bins) {
            if (g.bits_per_symbol == 0 || g.retransmission) continue;
            g.boundary = sn < first + reported ? window.frame(sn).boundary : unknown_boundary;
            most_bits += g.boundary < no_boundary ? 8 : 0;
            ++sn;
        }
        return most_bits <= limit_ || bits(grant) <= limit_;
    };
    if (new_frames == 0 || fits_with(new_frames)) return new_frames;
    // It always fits without boundaries. The largest number that fits is found by bisection.
    int reported = 0;
    for (int most = new_frames - 1; reported < most;) {
        const int middle = (reported + most + 1) / 2;
        if (fits_with(middle))
            reported = middle;
        else
            most = middle - 1;
    }
    fits_with(reported);
    return reported;
}

}  // namespace wip
