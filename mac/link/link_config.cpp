// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/link_config.h"

#include "types/require.h"

namespace wip {

static_assert(setting::link_bins.high == nof_bins);

void link_config::check() const {
    require(profile == link_profile::wipemu || profile == link_profile::radio, "link.profile",
            static_cast<int>(profile), "wipemu or radio");
    require(allocation == allocation_kind::fixed || allocation == allocation_kind::best,
            "link.allocation", static_cast<int>(allocation), "static or best");
    require(switch_table <= switch_table_kind::measured, "link.switch_table",
            static_cast<int>(switch_table), "nmse_0, nmse_0_1 or measured");
    check_range(bins, setting::link_bins);
    require(modulation >= 0 && modulation <= max_bits_per_symbol, "link.modulation", modulation,
            "0 (adaptive) or 1..8");
    check_range(max_retransmissions, setting::link_max_retransmissions);
    check_range("link retransmission_delay_slots", retransmission_delay_slots, 3,
                longest_delay_slots);
    check_range(queue_packets, setting::link_queue_packets);
    queue.check("link.");
}

}  // namespace wip
