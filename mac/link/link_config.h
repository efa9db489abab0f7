// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of the link, with the defaults of Alfredsson 2012, tables 5.8 and A.1, where the radio
// allows them. check() throws std::invalid_argument naming key, value and what would be valid.
#pragma once

#include <cstdint>
#include <string>

#include "queue/queue_config.h"
#include "types/eight_points.h"
#include "types/frame.h"
#include "types/grid.h"
#include "types/setting_limits.h"

namespace wip {

enum class allocation_kind : std::uint8_t { fixed, best };  // `static` / `best` in YAML
enum class switch_table_kind : std::uint8_t {
    nmse_0,
    nmse_0_1,
    measured,  // for the prediction error that the terminal reports
};

struct link_config {
    link_profile profile = link_profile::radio;
    int bins = setting::link_bins.initial;  // of every slot
    allocation_kind allocation = allocation_kind::best;
    int modulation = 0;  // 0 = adaptive, else 1..8 bits per symbol
    switch_table_kind switch_table = switch_table_kind::nmse_0_1;
    int max_retransmissions = setting::link_max_retransmissions.initial;
    int retransmission_delay_slots = 3;  // 3 slots = 2 ms; at least 3
    bool combining = true;               // chase combining (done by the receiver)
    bool packing = true;                 // fill the last frame of a packet with the next packet
    bool in_order = true;                // deliver in order; false: as completed
    bool deliver_corrupt = false;        // deliver packets with frames in error, IP header intact
    int queue_packets = setting::link_queue_packets.initial;
    queue_config queue;
    // The set of eight points for 3 bits/symbol: the switch tables are made for this set. A radio
    // sends the star; the emulator can send others.
    eight_points eight = eight_points::star;
    void check() const;
};

inline constexpr int longest_delay_slots = 48;

// After this many slots without feedback that a grant was received (20 ms) nothing more is sent.
// The limit bounds how far the SNs run ahead of a terminal that receives nothing, which the base
// station learns a retransmission delay later.
inline constexpr int blind_slots = 30;
inline constexpr std::int64_t most_blind_frames = (blind_slots + longest_delay_slots) * nof_bins;

}  // namespace wip
