// SPDX-License-Identifier: GPL-3.0-or-later
// How many bits the grant of a slot may have: all of its own, or a section of a grant that several
// terminals share (types/common_grant.h).
#pragma once

#include "rlc/transmit_window.h"
#include "types/common_grant.h"
#include "types/grant.h"

namespace wip {

class grant_room {
public:
    // `reserved`: bits at its end that carry something else, such as an uplink grant.
    static grant_room whole(link_profile profile, int reserved = 0) {
        return {profile, 8 * grant_bytes - reserved, false};
    }
    // 0 bits: the terminal is not served in this slot.
    static grant_room section(link_profile profile, int bits) { return {profile, bits, true}; }

    bool is_section() const { return section_; }
    int limit() const { return limit_; }
    int bits(const slot_grant& g) const {
        return section_ ? section_bits(g, profile_) : grant_bits(g, profile_);
    }
    // The boundaries of as many of the `fresh` new frames from `first` on as there is room for;
    // returns their number. `without`: bits of the grant without them.
    int tell_boundaries(slot_grant& grant, const transmit_window& window, frame_sn first, int fresh,
                        int without) const;

private:
    grant_room(link_profile profile, int limit, bool section)
        : profile_(profile), limit_(limit), section_(section) {}
    link_profile profile_;
    int limit_;
    bool section_;
};

// The base station's knowledge of the sections that a terminal of a common grant has received, by
// its answers: whether the next section has to be a full one, with first SN and window edge.
class section_history {
public:
    void forget() { *this = {}; }
    // A section from `first_new` on was received, or may not have been.
    void answer(bool full, bool decoded, frame_sn first_new) {
        if (decoded) {
            heard_ = first_new;
            known_ = known_ || full;
        } else {
            known_ = false;
            if (full) told_ = -1;
        }
    }
    void tell(frame_sn edge, slot air) {
        told_ = edge;
        at_ = air;
    }
    // Whether the section has to carry the edge: without it the terminal could not place the first
    // SN, or would go on waiting for frames that do not come.
    bool due(frame_sn next_sn, frame_sn edge, slot air) const {
        return !known_ || next_sn - heard_ >= short_sn_modulus ||
               (moved(edge) && air - at_ >= longest_silence);
    }
    bool moved(frame_sn edge) const { return edge != told_; }

private:
    static constexpr slot_count longest_silence{32};
    bool known_ = false;
    frame_sn heard_ = 0, told_ = -1;
    slot at_{0};
};

}  // namespace wip
