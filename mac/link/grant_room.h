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
    // Writes into the grant the boundaries of as many of the `new_frames` frames from `first` on as
    // there is room for, and returns their number. `bits_without`: bits of the grant without
    // boundaries.
    int put_boundaries(slot_grant& grant, const transmit_window& window, frame_sn first,
                       int new_frames, int bits_without) const;

private:
    grant_room(link_profile profile, int limit, bool section)
        : profile_(profile), limit_(limit), section_(section) {}
    link_profile profile_;
    int limit_;
    bool section_;
};

// The base station's knowledge, from the terminal's feedback, of the sections of common grants that
// it has received. It decides whether the next section has to be a full one, with first SN and
// window edge.
class section_history {
public:
    void forget() { *this = {}; }
    // The feedback for a section whose first new frame is `first_new`: it was decoded, or may not
    // have been. `full`: it carried the edge.
    void answer(bool full, bool decoded, frame_sn first_new) {
        if (decoded) {
            last_received_ = first_new;
            terminal_has_edge_ = terminal_has_edge_ || full;
        } else {
            terminal_has_edge_ = false;
            if (full) sent_edge_ = -1;
        }
    }
    void tell(frame_sn edge, slot air) {
        sent_edge_ = edge;
        sent_edge_at_ = air;
    }
    // Whether the section has to carry the edge: without it the terminal could not place the first
    // SN, or would go on waiting for frames that do not come.
    bool due(frame_sn next_sn, frame_sn edge, slot air) const {
        return !terminal_has_edge_ || next_sn - last_received_ >= short_sn_modulus ||
               (moved(edge) && air - sent_edge_at_ >= longest_silence);
    }
    bool moved(frame_sn edge) const { return edge != sent_edge_; }

private:
    // Slots after which an edge that has moved is sent again.
    static constexpr slot_count longest_silence{32};
    bool terminal_has_edge_ = false;
    frame_sn last_received_ = 0, sent_edge_ = -1;
    slot sent_edge_at_{0};
};

}  // namespace wip
