// SPDX-License-Identifier: GPL-3.0-or-later
// Checks the emulated cell: in = delivered + queued + dropped with reason, packets and bytes, at
// both ends of the downlink and on the uplink.
#pragma once

#include <string>

#include "cell/emulated_cell.h"

namespace wip::sim {

// Which sum does not hold; empty: all do.
inline std::string unequal_sums(cell_model::emulated_cell& cell) {
    const auto difference_text = [](const packets_bytes& missing,
                                    const std::string& what) -> std::string {
        if (missing.packets == 0 && missing.bytes == 0) return {};
        return what + ": " + std::to_string(static_cast<std::int64_t>(missing.packets)) +
               " packets and " + std::to_string(static_cast<std::int64_t>(missing.bytes)) +
               " bytes not accounted for";
    };
    std::string text =
        difference_text(cell.downlink().sums().missing(), "downlink") +
        difference_text(cell.uplink().sums().missing(), "uplink with the wired network");
    for (int u = 0; u < cell.users(); ++u) {
        const std::string user = " of user " + std::to_string(u);
        const auto& base = cell.base_status(u).link;
        text += difference_text(base.in - base.queued - base.sent - base.dropped_queue_full -
                                    base.dropped_not_ip - base.dropped_retransmissions,
                                "downlink at the base station" + user);
        const auto end = cell.terminal_status(u);
        text += difference_text(end.link.delivered - end.queued - end.delivered,
                                "downlink at the terminal" + user);
        const auto& up = end.uplink;
        text += difference_text(up.in - up.delivered - up.queued - up.dropped_queue_full -
                                    up.dropped_lost - up.dropped_not_ip,
                                "uplink" + user);
    }
    return text;
}

}  // namespace wip::sim
