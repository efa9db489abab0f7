// SPDX-License-Identifier: GPL-3.0-or-later
// ST's Nucleo-F446RE: 8 MHz from its ST-LINK, whose serial line is USART2 (PA2, PA3).
#pragma once

#include <string_view>

#include "board/registers.h"
#include "board/unique_identity.h"

namespace wip::board {

inline constexpr std::uint32_t core_hz = 168'000'000;
inline constexpr std::uint32_t timer_hz = 84'000'000;
inline constexpr std::uint32_t serial_clock_hz = 42'000'000;
inline auto& serial = usart2;
inline constexpr int serial_irq = 38, trigger_irq = 23;

// The serial number of the chip (RM0390, 33.1).
inline std::string_view serial_number() {
    static unique_identity identity;
    identity = unique_identity({chip_identity[0], chip_identity[1], chip_identity[2]});
    return identity.text();
}

// 168 MHz = 8 MHz / 8 * 336 / 2; APB1 42 MHz, APB2 84 MHz (RM0390, 6.3).
inline void start_clocks() {
    constexpr std::uint32_t hse_on = 1u << 16, hse_ready = 1u << 17, hse_bypass = 1u << 18,
                            pll_on = 1u << 24, pll_ready = 1u << 25;
    rcc.cr = rcc.cr | hse_bypass;
    rcc.cr = rcc.cr | hse_on;
    while ((rcc.cr & hse_ready) == 0) {
    }
    rcc.apb1enr = rcc.apb1enr | 1u << 28;  // power interface
    rcc.pllcfgr = 8u | 336u << 6 | 0u << 16 | 1u << 22 | 7u << 24 | 2u << 28;
    rcc.cr = rcc.cr | pll_on;
    while ((rcc.cr & pll_ready) == 0) {
    }
    flash.acr = 5u | 1u << 8 | 1u << 9 | 1u << 10;  // five wait states, caches, prefetch
    rcc.cfgr = 5u << 10 | 4u << 13;
    rcc.cfgr = rcc.cfgr | 2u;
    while ((rcc.cfgr >> 2 & 3) != 2) {
    }
}
inline void idle() { asm volatile("wfi"); }
// Called when the serial port is read from now on; only the emulated board has to announce it.
inline void listens() {}

}  // namespace wip::board
