// SPDX-License-Identifier: GPL-3.0-or-later
// The sender of a signal: the base station of a cell, or, on the cell's second carrier, one of its
// terminals. Every sender has pseudo-random sequences of its own (sequence.h),
// so that a signal on the other carrier, or of another terminal, is never taken for the one that is
// expected.
#pragma once

#include <stdexcept>
#include <string>

namespace wip::phy {

inline constexpr int nof_cells = 64;
inline constexpr int nof_terminals = 8;

struct sender {
    int cell = 0;  // 0..63
    bool uplink = false;
    // 0..7. On the uplink the terminal that sends; on the downlink of a cell with several terminals
    // the one that a frame is for (of the payload only: pilots and grants are for all).
    int terminal = 0;

    constexpr sender() = default;
    constexpr sender(int base_station_of) : cell(base_station_of) {}
    // Throws std::invalid_argument.
    static sender on_uplink(int cell, int t) {
        if (t < 0 || t >= nof_terminals)
            throw std::invalid_argument("terminal: " + std::to_string(t) + " is not in 0..7");
        sender s(cell);
        s.uplink = true;
        s.terminal = t;
        return s;
    }
    // The base station, with frames for terminal t of a cell with several.
    static constexpr sender to_terminal(int cell, int t) {
        sender s(cell);
        s.terminal = t;
        return s;
    }
    constexpr sender in_cell(int c) const {
        sender s(*this);
        s.cell = c;
        return s;
    }
};

}  // namespace wip::phy
