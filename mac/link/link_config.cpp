// SPDX-License-Identifier: GPL-3.0-or-later
#include "link/link_config.h"

#include <stdexcept>

namespace wip {
void check_range(const char* key, int value, int low, int high) {
    if (value >= low && value <= high) return;
    throw std::invalid_argument(std::string(key) + " = " + std::to_string(value) + ": must be " +
                                std::to_string(low) + " .. " + std::to_string(high));
}

void link_config::check() const {
    if (profile != link_profile::wipemu && profile != link_profile::radio)
        throw std::invalid_argument("profile = " + std::to_string(static_cast<int>(profile)) +
                                    ": must be wipemu or radio");
    if (allocation != allocation_kind::fixed && allocation != allocation_kind::best)
        throw std::invalid_argument("allocation = " + std::to_string(static_cast<int>(allocation)) +
                                    ": must be static or best");
    if (switch_table > switch_table_kind::measured)
        throw std::invalid_argument(
            "switch_table = " + std::to_string(static_cast<int>(switch_table)) +
            ": must be nmse_0, nmse_0_1 or measured");
    check_range("bins", bins, 1, nof_bins);
    if (modulation < 0 || modulation > max_bits_per_symbol)
        throw std::invalid_argument("modulation = " + std::to_string(modulation) +
                                    ": must be 0 (adaptive) or 1 .. 8");
    check_range("max_retransmissions", max_retransmissions, 0, 30);
    check_range("retransmission_delay_slots", retransmission_delay_slots, 3, longest_delay_slots);
    check_range("queue_packets", queue_packets, 1, 100000);
}

}  // namespace wip
