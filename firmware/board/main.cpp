// SPDX-License-Identifier: GPL-3.0-or-later
// The controller on its board. It has three interrupts, by falling priority: the serial line (a
// byte at 921600 baud is there for 11 us), the tick (79 us at most, computed:
// docs/how-to/attenuator.md) and the external trigger. The main loop gets the rest of the time.
// There is no heap, and the only busy waits after the start are for eight bits of SPI and for the
// serial line to take an answer.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "board/flash.h"
#include "board/independent_watchdog.h"
#include "board/pins.h"
#include "board/registers.h"
#include "core/controller.h"
#include "core/liveness.h"
#include BOARD_HEADER

namespace {

using namespace wip::attenuator;
namespace hw = wip::board;

constexpr std::uint32_t baud = 921'600, tick_cycles = hw::core_hz / 1000;

// Bytes between the serial line's interrupt and the main loop.
class byte_ring {
public:
    void push(std::uint8_t b) {
        const std::uint32_t head = head_.load(std::memory_order_relaxed);
        if (head - tail_.load(std::memory_order_acquire) == bytes_.size()) {
            overrun_.store(true, std::memory_order_relaxed);
            return;
        }
        bytes_[head % bytes_.size()] = b;
        head_.store(head + 1, std::memory_order_release);
    }
    bool pop(std::uint8_t& b) {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
        if (tail == head_.load(std::memory_order_acquire)) return false;
        b = bytes_[tail % bytes_.size()];
        tail_.store(tail + 1, std::memory_order_release);
        return true;
    }
    void say_overrun() { overrun_.store(true, std::memory_order_relaxed); }
    bool take_overrun() { return overrun_.exchange(false, std::memory_order_relaxed); }

private:
    std::array<std::uint8_t, 1024> bytes_{};
    std::atomic<std::uint32_t> head_{0}, tail_{0};
    std::atomic<bool> overrun_{false};
};

// Counts ticks by a timer that never stops, so that a tick whose interrupt did not run is noticed.
class tick_clock final : public board_port {
public:
    std::string_view serial_number() const override { return hw::serial_number(); }
    std::uint32_t ticks() const override { return ticks_.load(std::memory_order_relaxed); }
    // Number of ticks that are complete.
    std::uint32_t done() const { return done_.load(std::memory_order_relaxed); }
    bool after_fault() const override { return after_fault_; }
    void set_after_fault(bool after_fault) { after_fault_ = after_fault; }
    std::uint32_t missed_ticks() const override { return missed_.load(std::memory_order_relaxed); }
    tick_figures take_figures() override {
        // converts cycles at 168 MHz
        constexpr auto ns = [](std::uint32_t cycles) { return cycles * 125u / 21u; };
        static_assert(hw::core_hz == 168'000'000);
        return {ns(latency_.exchange(0, std::memory_order_relaxed)),
                ns(duration_.exchange(0, std::memory_order_relaxed))};
    }
    // Returns the ticks since the last one; a tick that comes up to half a tick late counts as its
    // own.
    std::uint32_t on_tick(std::uint32_t now_us) {
        const std::uint32_t passed = begun_ ? (now_us - last_us_ + 500u) / 1000u : 1u;
        last_us_ = begun_ ? last_us_ + passed * 1000u : now_us;
        begun_ = true;
        ticks_.fetch_add(passed, std::memory_order_relaxed);
        if (passed > 1) missed_.fetch_add(passed - 1, std::memory_order_relaxed);
        return passed;
    }
    void note(std::uint32_t latency, std::uint32_t duration) {
        done_.fetch_add(1, std::memory_order_relaxed);
        if (latency > latency_.load(std::memory_order_relaxed))
            latency_.store(latency, std::memory_order_relaxed);
        if (duration > duration_.load(std::memory_order_relaxed))
            duration_.store(duration, std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint32_t> ticks_{0}, missed_{0}, latency_{0}, duration_{0}, done_{0};
    bool after_fault_ = false;
    std::uint32_t last_us_ = 0;
    bool begun_ = false;
};

playback player;
tick_clock ticks;
byte_ring received;

void start_timers() {
    hw::tim2.psc = hw::timer_hz / 1'000'000 - 1;
    hw::tim2.arr = 0xffffffff;
    hw::tim2.egr = 1;
    hw::tim2.cr1 = 1;
    hw::systick.load = tick_cycles - 1;
    hw::systick.val = 0;
    hw::systick.ctrl = 7;
}

void start_interrupts() {
    const auto enable = [](int irq, std::uint8_t priority) {
        hw::nvic_priority[irq] = priority;
        hw::nvic_enable[irq / 32] = 1u << irq % 32;
    };
    enable(hw::serial_irq, 0x00);
    enable(hw::trigger_irq, 0x20);
    hw::scb.shpr[2] = 0x10u << 24;  // priority of the tick's interrupt
}

void start_serial() {
    hw::serial.brr = (hw::serial_clock_hz + baud / 2) / baud;
    constexpr std::uint32_t usart = 1u << 13, transmit = 1u << 3, receive = 1u << 2,
                            receive_interrupt = 1u << 5;
    hw::serial.cr1 = usart | transmit | receive | receive_interrupt;
}

void send(output_buffer& out) {
    for (const char c : out.bytes()) {
        while ((hw::serial.sr & 1u << 7) == 0) {
        }
        hw::serial.dr = static_cast<std::uint8_t>(c);
    }
    out.clear();
}

}  // namespace

extern "C" {

void tick_handler() {
    const std::uint32_t begin = hw::systick.val;
    const std::uint32_t now_us = hw::tim2.cnt;
    const tick_output out = player.tick(ticks.on_tick(now_us));
    // The number of the step and its time, for the trace of QEMU or a reader of SWO.
    if (out.is_step) {
        hw::itm_port[1] = out.step;
        hw::itm_port[2] = now_us;
    }
    hw::put(out);
    ticks.note(tick_cycles - 1 - begin, begin - hw::systick.val);
}

void serial_handler() {
    constexpr std::uint32_t overrun = 1u << 3, not_empty = 1u << 5;
    const std::uint32_t sr = hw::serial.sr;
    if ((sr & overrun) != 0) received.say_overrun();
    if ((sr & (overrun | not_empty)) != 0) received.push(static_cast<std::uint8_t>(hw::serial.dr));
}

void trigger_handler() {
    hw::exti.pr = hw::trigger_in;
    player.trigger(trigger_source::external);
}

void run() {
    ticks.set_after_fault(hw::take_fault_reset());
    hw::start_watchdog();
    hw::start_clocks();
    hw::start_pins();
    static controller device(player, hw::settings_flash(), ticks);
    start_interrupts();
    start_timers();
    start_serial();
    hw::listens();
    liveness alive;
    for (;;) {
        std::uint8_t byte = 0;
        while (received.pop(byte)) {
            device.on_byte(byte);
            send(device.output());
        }
        if (received.take_overrun()) device.on_overrun();
        device.poll();
        send(device.output());
        if (alive.turn(ticks.done())) hw::feed_watchdog();
        hw::idle();
    }
}
}
