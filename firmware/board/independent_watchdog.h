// SPDX-License-Identifier: GPL-3.0-or-later
// The chip's independent watchdog (RM0390, 20; RM0090, 21): a counter with an oscillator of its own
// (LSI, 17 to 47 kHz) that resets the chip when it is not fed. Once started nothing stops it but a
// reset. After one the firmware begins anew, and the controller takes every chip to its maximum
// (instrument.cpp).
//
// Its time is longer than the processor may stall for an erased sector of flash (0.8 s at
// most, flash_stm32f4.cpp) however fast the oscillator is, and how slow it is bounds how long a
// locked core holds the last levels.
#pragma once

#include <cstdint>

#include "board/registers.h"

namespace wip::board {

inline constexpr std::uint32_t watchdog_prescaler = 32, watchdog_reload = 2000;
inline constexpr std::uint32_t fastest_lsi_hz = 47'000, slowest_lsi_hz = 17'000;
// The watchdog resets the controller after 1.36 to 3.76 s, 2.0 s at the nominal 32 kHz.
inline constexpr std::uint32_t watchdog_least_ms =
    1000 * watchdog_prescaler * watchdog_reload / fastest_lsi_hz;
inline constexpr std::uint32_t watchdog_most_ms =
    1000 * watchdog_prescaler * watchdog_reload / slowest_lsi_hz;
inline constexpr std::uint32_t longest_erase_ms = 800;
static_assert(watchdog_least_ms > longest_erase_ms + 500 && watchdog_most_ms < 4000);
static_assert(watchdog_reload <= 0xfff);

inline void feed_watchdog() { iwdg.kr = 0xaaaa; }

inline void start_watchdog() {
    constexpr std::uint32_t start = 0xcccc, unlock = 0x5555, by_32 = 3;
    iwdg.kr = start;
    iwdg.kr = unlock;
    iwdg.pr = by_32;
    iwdg.rlr = watchdog_reload;
    while (iwdg.sr != 0) {
    }
    feed_watchdog();
}

// Did the watchdog or a fault (startup.cpp) reset the chip, and not power or the button? Asked
// once: the flags are cleared.
inline bool take_fault_reset() {
    constexpr std::uint32_t by_watchdog = 1u << 29, by_software = 1u << 28, clear = 1u << 24;
    const std::uint32_t flags = rcc.csr;
    rcc.csr = flags | clear;
    return (flags & (by_watchdog | by_software)) != 0;
}

}  // namespace wip::board
