// SPDX-License-Identifier: GPL-3.0-or-later
// Counters of the link. Conservation, packets and bytes, at any time:
//   base:  in = queued + sent + dropped_queue_full + dropped_queue_managed + dropped_not_ip +
//               dropped_retransmissions
//          `sent` = the terminal has acknowledged every frame of the packet
//          frames_sent = frames_acknowledged + frames_failed + those still on the way
// Between both ends when the base station is idle() and one more grant has been received, d being
// the packets delivered intact (delivered - delivered_damaged):
//   sent <= d <= sent + dropped_retransmissions; with frames_dropped = 0: d = sent = delivered
//          (a frame dropped may have arrived, with all its ACKs lost, so d may be the larger)
//   delivered + dropped_lost_frame + dropped_start_over <= sent + dropped_retransmissions
//          (a packet whose header was lost is not known to the terminal)
#pragma once

#include <array>
#include <cstdint>

#include "types/grid.h"
#include "types/packets_bytes.h"

namespace wip {

struct base_statistics {
    packets_bytes in;
    packets_bytes queued;  // in the queue or not yet fully acknowledged
    packets_bytes sent;    // every frame acknowledged
    packets_bytes marked;  // part of `in`: the queue wrote "congestion experienced"
    packets_bytes dropped_queue_full;
    packets_bytes dropped_queue_managed;    // by the queue discipline, to signal congestion
    packets_bytes dropped_not_ip;           // neither IPv4 nor IPv6, or length field != size
    packets_bytes dropped_retransmissions;  // a frame of it used up its retransmissions

    std::uint64_t slots_planned = 0;
    std::uint64_t frames_sent = 0;  // transmissions of units, retransmissions included
    std::uint64_t frames_acknowledged = 0;
    std::uint64_t frames_failed = 0;  // transmissions that were not acknowledged
    std::uint64_t frames_dropped = 0;
    std::uint64_t frames_split = 0;       // failed units cut for lower-rated bins
    std::uint64_t feedback_missing = 0;   // slots with frames but without feedback in time
    std::uint64_t slots_not_sent = 0;     // planned with frames, but too late for the radio
    std::uint64_t feedback_rejected = 0;  // for a slot not sent, or after its time
    std::uint64_t grant_overflows = 0;    // slots where not all retransmissions fitted in the grant
    std::uint64_t window_stalls = 0;  // slots after which packets wait because the window is full
    std::array<std::uint64_t, max_bits_per_symbol + 1>
        modulation{};                                 // transmissions by bits/symbol
    std::array<std::uint64_t, 31> retransmissions{};  // units acknowledged after n retransmissions
    std::uint64_t payload_bits_acknowledged = 0;      // SDU bits in acknowledged units
};

struct terminal_statistics {
    packets_bytes delivered;
    packets_bytes delivered_damaged;   // part of `delivered`
    packets_bytes dropped_lost_frame;  // known packets that lost a frame
    // Known packets that were not complete when the terminal had to start over because the grants
    // could not come from the base station that it knew (it is another one, or has restarted).
    packets_bytes dropped_start_over;
    std::uint64_t started_over = 0;
    std::uint64_t resynchronised =
        0;  // times a packet boundary was lost with the packets before it
    // Bytes received in frames that belong to packets whose beginning was lost: it is not known
    // where they belong.
    std::uint64_t bytes_unplaced = 0;
    std::uint64_t slots = 0;
    std::uint64_t slots_unlocked = 0;
    std::uint64_t grants_failed = 0;
    std::uint64_t frames_good = 0;
    std::uint64_t frames_bad = 0;
    std::uint64_t frames_duplicate = 0;
    std::uint64_t frames_combined = 0;  // good only after combining
};

}  // namespace wip
