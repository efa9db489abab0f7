// SPDX-License-Identifier: GPL-3.0-or-later
// The ARQ unit: what one bin carries of one link frame, and the rules by which a unit is cut.
//
// A frame first sent at K bits/symbol holds P(K) = 27 K - c nibbles (c = 6 in the profile `radio`
// for the CRC, 0 in `wipemu`). A bin with a lower modulation k takes the fragment that starts at
// nibble o: nibbles o .. o + P(k) - 1, or to the end of the frame if that comes first (rest: zero
// nibbles). So content and length of a fragment follow from (SN, o, k) alone, and copies of it can
// be combined.
//
// The last fragment of a frame does not say how long the frame is, and a terminal that missed the
// grant of the first transmission does not know K. Rule: a fragment that reaches the end of the
// frame goes at the *lowest* modulation that holds it, P(k - 1) < P(K) - o <= P(k). The bounds are
// 27 nibbles apart and so are the lengths of frames, hence exactly one K fits: K = floor(o / 27) +
// k. It costs nothing (the rest of the bin would be padding) and makes the fragment more robust.
//
// `length` is the part of the frame that is acknowledged with this unit. When a fragment from the
// middle of a frame is cut again, the last piece is shorter than P(k): it then carries the
// following nibbles of the frame as well (they are sent again), but only its own are acknowledged
// with it.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "types/frame.h"

namespace wip {

// The part of a frame that carries the stream of packets: its payload, less the nibbles that the
// MAC has put in front (the uplink's SDU boundary; none on the downlink).
struct stream_room {
    link_profile profile = link_profile::radio;
    int header_nibbles = 0;
    constexpr stream_room(link_profile p, int header = 0) : profile(p), header_nibbles(header) {}
    constexpr int nibbles(int bits_per_symbol) const {
        return frame_payload_nibbles(profile, bits_per_symbol) - header_nibbles;
    }
};

struct arq_unit {
    frame_sn sn = 0;
    std::uint8_t offset = 0;           // nibbles into the frame payload
    std::uint8_t length = 0;           // nibbles that are acknowledged with the unit
    std::uint8_t bits_per_symbol = 0;  // 0: not sent as this unit yet, may be cut at will
    std::uint8_t retransmissions = 0;  // so far
    bool operator==(const arq_unit&) const = default;
};

// Order of retransmission: oldest frame first, front to back.
inline bool before(const arq_unit& a, const arq_unit& b) {
    return a.sn != b.sn ? a.sn < b.sn : a.offset < b.offset;
}

// Lowest modulation whose frame holds `nibbles`; nibbles <= P(8).
constexpr int lowest_modulation(link_profile p, int nibbles) {
    const int overhead = p == link_profile::radio ? frame_crc_bits / 4 : 0;
    return std::max(1, (nibbles + overhead + 26) / 27);
}

// First modulation of the frame whose last fragment starts at `offset` and goes at k; 0 when no
// frame has such a last fragment.
constexpr int frame_modulation_of_last(link_profile p, int offset, int k) {
    const int frame_k = offset / 27 + k;
    if (k < 1 || frame_k > max_bits_per_symbol) return 0;
    const int rest = frame_payload_nibbles(p, frame_k) - offset;
    return rest > 0 && lowest_modulation(p, rest) == k ? frame_k : 0;
}

// True when the fragment at `offset` with modulation k reaches the end of a frame of n nibbles.
constexpr bool reaches_end(link_profile p, int offset, int k, int n) {
    return offset + frame_payload_nibbles(p, k) >= n;
}

}  // namespace wip
