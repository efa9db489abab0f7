// SPDX-License-Identifier: GPL-3.0-or-later
// The functions that the controller needs from its board.
#pragma once

#include <cstdint>
#include <string_view>

namespace wip::attenuator {

// Durations of the tick's interrupt since power-on or the last query, in ns.
struct tick_figures {
    std::uint32_t worst_latency = 0;   // ns from the timer's event to the first instruction
    std::uint32_t worst_duration = 0;  // ns from the first to the last instruction
};

class board_port {
public:
    virtual std::string_view serial_number() const = 0;
    virtual std::uint32_t ticks() const = 0;  // ticks since power-on
    virtual std::uint32_t missed_ticks()
        const = 0;  // number of ticks without an interrupt of their own
    virtual tick_figures take_figures() = 0;
    // Whether this start followed a fault: the watchdog or a fault handler has reset the chip.
    virtual bool after_fault() const = 0;

protected:
    ~board_port() = default;
};

}  // namespace wip::attenuator
