// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/grant_room.h"

namespace wip {

int grant_room::tell_boundaries(slot_grant& grant, const transmit_window& window, frame_sn first,
                                int fresh, int without) const {
    const auto tell = [&](int reported) {
        frame_sn sn = first;
        int most = without + 8 + 2 * fresh;  // of it, and with 8 a boundary
        for (bin_grant& g : grant.bins) {
            if (g.bits_per_symbol == 0 || g.retransmission) continue;
            g.boundary = sn < first + reported ? window.frame(sn).boundary : unknown_boundary;
            most += g.boundary < no_boundary ? 8 : 0;
            ++sn;
        }
        return most <= limit_ || bits(grant) <= limit_;
    };
    if (fresh == 0 || tell(fresh)) return fresh;
    // With nothing said of them it fits.
    int reported = 0;
    for (int most = fresh - 1; reported < most;) {
        const int middle = (reported + most + 1) / 2;
        if (tell(middle))
            reported = middle;
        else
            most = middle - 1;
    }
    tell(reported);
    return reported;
}

}  // namespace wip
