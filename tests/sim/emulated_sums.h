// SPDX-License-Identifier: GPL-3.0-or-later
// Of the emulated cell's status: in = delivered + queued + dropped with reason, packets and bytes,
// at both ends of the downlink and on the uplink.
#pragma once

#include <string>

#include "cell/emulated_cell.h"
#include "emulator/cell_status.h"

namespace wip::sim {

// Which sum does not hold; empty: all do.
inline std::string unequal_sums(const cell_model::emulated_cell& cell) {
    openwip::control::MacStatus base, terminal;
    emulator::fill_base(cell, base);
    emulator::fill_terminal(cell, terminal);
    const auto of = [](const openwip::control::Direction& d, const char* what) -> std::string {
        auto packets = d.delivered().packets() + d.queued().packets();
        auto bytes = d.delivered().bytes() + d.queued().bytes();
        for (const auto& drop : d.dropped()) {
            packets += drop.count().packets();
            bytes += drop.count().bytes();
        }
        if (packets == d.in().packets() && bytes == d.in().bytes()) return {};
        return std::string(what) + ": " + std::to_string(d.in().packets()) + " packets in, " +
               std::to_string(packets) + " accounted for; " + std::to_string(d.in().bytes()) +
               " bytes in, " + std::to_string(bytes) + " accounted for";
    };
    for (const auto& text :
         {of(base.downlink(), "downlink at the base station"),
          of(terminal.downlink(), "downlink at the terminal"), of(terminal.uplink(), "uplink")})
        if (!text.empty()) return text;
    return {};
}

}  // namespace wip::sim
