// SPDX-License-Identifier: GPL-3.0-or-later
// From reset to main: variables, constructors, the table of interrupts.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "board/registers.h"
#include BOARD_HEADER

extern "C" {
// Addresses that the linker script defines. They are declared as arrays, since a single word would
// have a known size, and accesses beyond it would be undefined.
extern std::uint32_t stack_top[], data_load[], data_begin[], data_end[], bss_begin[], bss_end[];
using function = void (*)();
extern function init_begin[], init_end[];

void run();
void reset_handler();
void tick_handler();
void serial_handler();
void trigger_handler();
[[noreturn]] void abort();

// Restarts the controller after a fault, from which it cannot go on; the restart takes every chip
// to its maximum. A core that locks up, even in here, is reset by the watchdog
// (independent_watchdog.h).
void fault_handler() {
    wip::board::scb.aircr = 0x05fa0004;
    for (;;) {
    }
}
// The library would end with this function. There is no heap, and nothing links that asks for one:
// _sbrk does not exist.
void __cxa_pure_virtual() { fault_handler(); }
void abort() {
    fault_handler();
    for (;;) {
    }
}

void reset_handler() {
    std::copy(data_load, data_load + (data_end - data_begin), data_begin);
    std::fill(bss_begin, bss_end, 0u);
    for (const function* f = init_begin; f != init_end; ++f) (*f)();
    run();
    fault_handler();
}
}

// Called by string_view::substr beyond its end; there are no exceptions, and no C++ library that
// would define it.
namespace std {
[[noreturn]] void __throw_out_of_range_fmt(const char*, ...) { abort(); }
}  // namespace std

namespace {

constexpr std::size_t nof_exceptions = 16, nof_interrupts = 82;

struct vector_table {
    std::uint32_t* stack;
    std::array<function, nof_exceptions - 1 + nof_interrupts> handlers;
};

constexpr vector_table make_vectors() {
    vector_table v{stack_top, {}};
    v.handlers.fill(fault_handler);
    v.handlers[0] = reset_handler;
    v.handlers[14] = tick_handler;
    const auto interrupt = [&](int number) -> function& {
        return v.handlers[nof_exceptions - 1 + static_cast<std::size_t>(number)];
    };
    interrupt(wip::board::serial_irq) = serial_handler;
    interrupt(wip::board::trigger_irq) = trigger_handler;
    return v;
}

}  // namespace

extern const vector_table vectors;
[[gnu::section(".vectors"), gnu::used]] constinit const vector_table vectors = make_vectors();
