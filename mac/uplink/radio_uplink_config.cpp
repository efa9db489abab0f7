// SPDX-License-Identifier: GPL-3.0-or-later
#include "uplink/radio_uplink_config.h"

#include <stdexcept>
#include <string>

#include "link/link_config.h"
#include "types/grid.h"
#include "types/not_valid.h"

namespace wip {
namespace {
void check_range(const char* key, int value, int least, int most) {
    if (value >= least && value <= most) return;
    throw std::invalid_argument(
        not_valid(key, std::to_string(value), std::to_string(least) + ".." + std::to_string(most)));
}
}  // namespace

void radio_uplink_config::check() const {
    check_range("uplink.bins", bins, 1, nof_bins);
    check_range("uplink.modulation", modulation, 0, max_bits_per_symbol);
    check_range("uplink.standing_bins", standing_bins, 0, bins);
    check_range("link.retransmission_delay_slots", delay_slots, 3, longest_delay_slots);
    check_range("uplink.queue_packets", queue_packets, 1, 100000);
    queue.check("uplink.");
}

}  // namespace wip
