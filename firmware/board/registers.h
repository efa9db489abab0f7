// SPDX-License-Identifier: GPL-3.0-or-later
// Registers of STM32F405 and F446 (RM0090, RM0390) and of the Cortex-M4 (ARMv7-M), as far as they
// are used; both have them at the same addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wip::board {

using reg = volatile std::uint32_t;

struct rcc_registers {
    reg cr, pllcfgr, cfgr, cir, ahb1rstr, ahb2rstr, ahb3rstr, r0, apb1rstr, apb2rstr, r1[2],
        ahb1enr, ahb2enr, ahb3enr, r2, apb1enr, apb2enr, r3[2], ahb1lpenr, ahb2lpenr, ahb3lpenr, r4,
        apb1lpenr, apb2lpenr, r5[2], bdcr, csr;
};
static_assert(offsetof(rcc_registers, csr) == 0x74);
struct iwdg_registers {
    reg kr, pr, rlr, sr;
};
struct gpio_registers {
    reg moder, otyper, ospeedr, pupdr, idr, odr, bsrr, lckr, afrl, afrh;
};
struct usart_registers {
    reg sr, dr, brr, cr1, cr2, cr3;
};
struct spi_registers {
    reg cr1, cr2, sr, dr;
};
struct timer_registers {
    reg cr1, cr2, smcr, dier, sr, egr, ccmr1, ccmr2, ccer, cnt, psc, arr;
};
struct exti_registers {
    reg imr, emr, rtsr, ftsr, swier, pr;
};
struct syscfg_registers {
    reg memrmp, pmc, exticr[4];
};
struct flash_registers {
    reg acr, keyr, optkeyr, sr, cr;
};
struct systick_registers {
    reg ctrl, load, val;
};
struct scb_registers {
    reg cpuid, icsr, vtor, aircr, scr, ccr, shpr[3];
};

template <typename T>
T& at(std::uint32_t address) {
    return *reinterpret_cast<T*>(address);  // NOLINT: that is where it is
}

inline auto& rcc = at<rcc_registers>(0x40023800);
inline auto& gpio_a = at<gpio_registers>(0x40020000);
inline auto& gpio_b = at<gpio_registers>(0x40020400);
inline auto& gpio_c = at<gpio_registers>(0x40020800);
inline auto& usart1 = at<usart_registers>(0x40011000);
inline auto& usart2 = at<usart_registers>(0x40004400);
inline auto& spi1 = at<spi_registers>(0x40013000);
inline auto& tim2 = at<timer_registers>(0x40000000);
inline auto& iwdg = at<iwdg_registers>(0x40003000);
inline auto& exti = at<exti_registers>(0x40013c00);
inline auto& syscfg = at<syscfg_registers>(0x40013800);
inline auto& flash = at<flash_registers>(0x40023c00);
inline auto& systick = at<systick_registers>(0xe000e010);
inline auto& scb = at<scb_registers>(0xe000ed00);
inline reg* const nvic_enable = &at<reg>(0xe000e100);
inline volatile std::uint8_t* const nvic_priority = &at<volatile std::uint8_t>(0xe000e400);
inline const reg* const chip_identity = &at<reg>(0x1fff7a10);
// Stimulus ports of the instrumentation trace: to a debugger over SWO where one listens, else
// nowhere.
inline reg* const itm_port = &at<reg>(0xe0000000);

}  // namespace wip::board
