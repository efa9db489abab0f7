// SPDX-License-Identifier: GPL-3.0-or-later
// In the place of firmware/board/registers.h: the chip's flash interface as a model
// (flash_model.h), for firmware/board/flash_stm32f4.cpp on the host; its watchdog and the flags of
// its last reset, for firmware/board/independent_watchdog.h. Each test says what the registers do.
#pragma once

#include <cstdint>

namespace wip::board {

struct model_register {
    int number;
    operator std::uint32_t() const;                              // NOLINT: as a register is read
    const model_register& operator=(std::uint32_t value) const;  // NOLINT: as it is written
};

struct flash_registers {
    model_register acr{0}, keyr{1}, optkeyr{2}, sr{3}, cr{4};
};

struct iwdg_registers {
    model_register kr{5}, pr{6}, rlr{7}, sr{8};
};
struct rcc_registers {
    model_register csr{9};
};

inline const flash_registers flash;
inline const iwdg_registers iwdg;
inline const rcc_registers rcc;

}  // namespace wip::board
