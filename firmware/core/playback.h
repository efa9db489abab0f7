// SPDX-License-Identifier: GPL-3.0-or-later
// The levels of the chips in each tick of 1 ms. People set them, or the host streams a table of
// steps, each of which has the levels for one period.
//
//            begin            trigger             last step
//   idle ------------> armed ----------> playing -----------> ended
//                        |                  |
//                        +------------------+--- stop -------> stopped
//                        +------------------+--- host silent -> silent
//
// `tick` belongs to the timer's interrupt and is the only one who drives the chips; everything else
// belongs to the main loop, which asks through atomics and so never waits and never makes the tick
// wait. Without a trigger it starts when the ring is half full or has the whole table. Step k is
// due in the tick start + k * period. If a step has not come when it is due, the levels are held
// (or its channels go to their maximum) and the step is counted; the later steps stay due at their
// own times. If the host sends nothing for `silence_ticks` while its playback is armed or runs, the
// playback ends, with the levels held or all channels at their maximum: silence is counted in ticks
// begun, so that the action comes before that time is over, not after. Tests: test_playback.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "core/layout.h"
#include "core/step_ring.h"

namespace wip::attenuator {

enum class play_state : std::uint8_t { idle, armed, playing, ended, stopped, silent };
enum class trigger_source : std::uint8_t { immediate, external, bus };
enum class fallback : std::uint8_t { hold, maximum };

struct play_plan {
    std::uint8_t channels = 0;  // bit c: channel c has a column in the table
    std::uint16_t period_ticks = 1;
    trigger_source trigger = trigger_source::immediate;
    fallback on_underflow = fallback::hold, on_silence = fallback::maximum;
    std::uint16_t silence_ticks = 100;
    bool trigger_out = true;
};

// Outputs that the board has to make in this tick.
struct tick_output {
    std::array<std::uint8_t, nof_chips> word{};
    std::uint8_t chips = 0;  // bit k: chip k gets its word
    std::uint8_t switch_position = 0;
    bool set_switch = false;
    bool trigger_pulse = false,
         end_pulse = false;  // trigger output: high in this tick, low in the next one
    // Step whose words they are; meaningful with `is_step`.
    bool is_step = false;
    std::uint32_t step = 0;
};

class playback {
public:
    explicit playback(chip_layout layout = {}) { set_layout(layout); }

    // --- the main loop ---
    enum class accepted : std::uint8_t { all, gap, out_of_range, no_room, not_whole, not_open };

    bool active() const { return active_.load(std::memory_order_acquire); }
    play_state state() const { return state_.load(std::memory_order_acquire); }
    chip_layout layout() const {
        return chip_layout(series_pairs_.load(std::memory_order_relaxed));
    }
    const play_plan& plan() const { return plan_; }  // plan of the playback that was begun last
    const step_ring& ring() const { return ring_; }
    std::uint32_t underflows() const { return underflows_.load(std::memory_order_relaxed); }
    // Whether the step that was due last had not been received.
    bool starved() const { return starved_.load(std::memory_order_relaxed); }
    // Whether a level has been set that is not yet on the chips.
    bool pending() const { return dirty_.load(std::memory_order_acquire) != 0; }
    quarter_db level(channel_index c) const {
        return {levels_[static_cast<unsigned>(c.value)].load(std::memory_order_relaxed)};
    }
    channel_levels levels() const;
    int switch_position() const { return switch_position_; }

    // Returns false while a playback is active, as do the setters.
    bool begin(const play_plan& plan);
    accepted accept(std::uint32_t first, std::span<const std::uint8_t> levels, bool last);
    void stop();
    // A trigger from the bus or the input; false if no playback waits for it.
    bool trigger(trigger_source from);
    void heard() { heard_.store(true, std::memory_order_release); }
    bool set_layout(chip_layout layout);
    bool set_level(channel_index c, quarter_db level);
    bool set_levels(const channel_levels& levels);
    bool set_switch(int position);

    // --- the tick; `passed`: ticks since the last call, 1 if none was missed ---
    tick_output tick(std::uint32_t passed = 1) noexcept;

private:
    // bits of outputs that have to be written
    static constexpr std::uint32_t dirty_switch = 1u << 8, dirty_chips = 0xff;

    void end_with(play_state state) noexcept;
    void put_step(std::uint32_t step) noexcept;
    void to_maximum(std::uint8_t channels) noexcept;
    bool may_start() const noexcept;
    void play(std::uint32_t passed, tick_output& out) noexcept;

    step_ring ring_;
    std::array<std::atomic<std::uint8_t>, nof_chips> levels_{};
    std::atomic<std::uint32_t> dirty_{dirty_chips | dirty_switch}, underflows_{0};
    std::atomic<bool> active_{false}, heard_{false}, triggered_{false}, halt_{false},
        starved_{false};
    std::atomic<play_state> state_{play_state::idle};
    std::atomic<std::uint8_t> switch_position_{1};
    // Bit k: chips 2k and 2k+1 are in series (layout.h).
    std::atomic<std::uint8_t> series_pairs_{0};
    play_plan plan_;  // the main loop writes it while no playback is active
    // Only tick() uses these: the step that is due, the ticks since then, the ticks of the host's
    // silence, and whether the last tick began a pulse of the trigger output.
    std::uint32_t due_ = 0, elapsed_ = 0, quiet_ = 0;
    bool pulse_ = false;
};

}  // namespace wip::attenuator
