// SPDX-License-Identifier: GPL-3.0-or-later
// QEMU's machine `netduinoplus2` (STM32F405). It has no clock control and no pins: what is written
// there goes into its trace.
#pragma once

#include <cstdint>
#include <string_view>

#include "board/registers.h"

namespace wip::board {

inline constexpr std::uint32_t core_hz = 168'000'000;
inline constexpr std::uint32_t timer_hz = 1'000'000'000;  // clock of QEMU's stm32f2xx-timer
inline constexpr std::uint32_t serial_clock_hz = 84'000'000;
inline auto& serial = usart1;
inline constexpr int serial_irq = 37, trigger_irq = 23;

// The board has no serial number, for which *IDN? has "0" (IEEE 488.2, 10.14.3).
inline std::string_view serial_number() { return "0"; }
inline void start_clocks() {}
// Does not sleep: QEMU takes the count of instructions for its clock (-icount). In a sleep, which
// has none, time would go on with the clock of the machine on which QEMU runs.
inline void idle() {}
// Tells the program that started QEMU (semihosting, SYS_WRITE0) that the serial port is read from
// now on. What that program sends earlier is lost, even a part of a line alone.
inline void listens() {
    register std::uint32_t r0 asm("r0") = 0x04;
    register const char* r1 asm("r1") = "listens\n";
    asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

}  // namespace wip::board
