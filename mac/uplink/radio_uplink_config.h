// SPDX-License-Identifier: GPL-3.0-or-later
// Settings of an uplink by radio, for both ends.
#pragma once

#include "queue/queue_config.h"
#include "types/frame.h"

namespace wip {

struct radio_uplink_config {
    link_profile profile = link_profile::radio;
    int bins = 5;        // most bins that a slot grants, 1..25
    int modulation = 4;  // bits per symbol, 1..8; 0: by the SNR of the terminal's last slot
    // Bins that a slot grants although nothing is known to wait, so that a packet that comes need
    // not wait for a request and its grant; 0..bins.
    int standing_bins = 1;
    // Slots from a grant to the first one that can ask again for its frames, 3..48: that of the
    // downlink.
    int delay_slots = 3;
    // Whether the base station may use short grants (types/short_uplink_grant.h); a terminal always
    // understands them.
    bool short_grants = true;
    int queue_packets = 54;  // queue of the terminal
    queue_config queue;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

}  // namespace wip
