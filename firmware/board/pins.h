// SPDX-License-Identifier: GPL-3.0-or-later
// The wiring of the pins (docs/how-to/attenuator.md, wiring), and how each is moved. SPI1: PA5
// clock, PA7 data. PC0 to PC7: latch enable of chips 1 to 8. PB0, PB1: the switch, position - 1 in
// binary. PB8: trigger in, rising edge. PB9: trigger out.
#pragma once

#include "board/registers.h"
#include "core/playback.h"
#include BOARD_HEADER

namespace wip::board {

inline constexpr std::uint32_t trigger_in = 1u << 8, trigger_out = 1u << 9;

inline void start_pins() {
    rcc.ahb1enr = rcc.ahb1enr | 7u;                             // clocks of ports A, B, C
    rcc.apb2enr = rcc.apb2enr | 1u << 12 | 1u << 14 | 1u << 4;  // clocks of SPI1, SYSCFG, USART1
    rcc.apb1enr = rcc.apb1enr | 1u << 0 | 1u << 17;             // clocks of TIM2, USART2
    constexpr std::uint32_t alternate = 2, output = 1;
    const auto mode = [](gpio_registers& g, unsigned pin, std::uint32_t m) {
        g.moder = (g.moder & ~(3u << 2 * pin)) | m << 2 * pin;
        g.ospeedr = (g.ospeedr & ~(3u << 2 * pin)) | 2u << 2 * pin;
    };
    gpio_c.bsrr = 0xffu << 16;  // all latches are closed while the first word goes out
    for (unsigned pin = 0; pin < 8; ++pin) mode(gpio_c, pin, output);
    mode(gpio_b, 0, output);
    mode(gpio_b, 1, output);
    mode(gpio_b, 9, output);
    // pulls the input down, so that an open one gives no edges
    gpio_b.pupdr = gpio_b.pupdr | 2u << 2 * 8;
    gpio_a.afrl =
        (gpio_a.afrl & ~0xf0f0ff00u) | 0x50507700u;  // PA2, PA3: 7 (USART2); PA5, PA7: 5 (SPI1)
    for (const unsigned pin : {2u, 3u, 5u, 7u}) mode(gpio_a, pin, alternate);
    // Master, 84 MHz / 16 = 5.25 MHz (a PE43711 takes 10), D0 first, clock low between words, data
    // taken with its rising edge.
    constexpr std::uint32_t enable = 1u << 6, master = 1u << 2, lsb_first = 1u << 7,
                            software_select = 3u << 8, by_16 = 3u << 3;
    spi1.cr1 = master | by_16 | lsb_first | software_select;
    spi1.cr1 = spi1.cr1 | enable;
    syscfg.exticr[2] = (syscfg.exticr[2] & ~0xfu) | 1u;  // PB8 is connected to line 8
    exti.rtsr = exti.rtsr | trigger_in;
    exti.imr = exti.imr | trigger_in;
}

// Puts a tick's words and levels to the chips and pins: at most eight words, 32 us.
inline void put(const wip::attenuator::tick_output& out) {
    for (unsigned chip = 0; chip < attenuator::nof_chips; ++chip) {
        if ((out.chips >> chip & 1) == 0) continue;
        constexpr std::uint32_t transmit_empty = 1u << 1, busy = 1u << 7;
        spi1.dr = out.word[chip];
        while ((spi1.sr & transmit_empty) == 0 || (spi1.sr & busy) != 0) {
        }
        gpio_c.bsrr = 1u << chip;
        for (int k = 0; k < 4; ++k) asm volatile("nop");  // the pulse has to last 30 ns at least
        gpio_c.bsrr = 1u << (chip + 16);
    }
    if (out.set_switch) {
        const std::uint32_t code = (out.switch_position - 1u) & 3u;
        gpio_b.bsrr = code | (~code & 3u) << 16;
    }
    // One tick long.
    if (out.trigger_pulse || out.end_pulse)
        gpio_b.bsrr = out.trigger_pulse ? trigger_out : trigger_out << 16;
}

}  // namespace wip::board
