// SPDX-License-Identifier: GPL-3.0-or-later
// The state that people's commands and the host's frames both act on: playback, settings, errors
// and status registers. Everything here belongs to the main loop.
#pragma once

#include <cstdint>

#include "core/board_port.h"
#include "core/error_queue.h"
#include "core/playback.h"
#include "core/settings_store.h"

namespace wip::attenuator {

// A register of SCPI-99, chapter 20: what becomes true in `condition` stays in `event` until it is
// read.
struct status_register {
    std::uint16_t condition = 0, event = 0, enable = 0;

    void update(std::uint16_t now) {
        event = static_cast<std::uint16_t>(event | (now & ~condition));
        condition = now;
    }
    std::uint16_t take_event() {
        const std::uint16_t e = event;
        event = 0;
        return e;
    }
    bool summary() const { return (event & enable) != 0; }
};
enum operation_bit : std::uint16_t {
    operation_settling = 1 << 1,
    operation_waits_for_trigger = 1 << 5,
    operation_playing = 1 << 8,
};
enum questionable_bit : std::uint16_t {
    questionable_silent = 1 << 9,
    questionable_underflow = 1 << 10,
};
// IEEE 488.2, 11.2; SCPI-99, 9.
enum stb_bit : std::uint8_t {
    stb_errors = 1 << 2,
    stb_questionable = 1 << 3,
    stb_event_status = 1 << 5,
    stb_master = 1 << 6,
    stb_operation = 1 << 7,
};

// Limits of silence_ticks (playback.h), in ticks of 1 ms. A request and its answer take some
// milliseconds on the serial line: a shorter limit would be exceeded between two requests of a host
// that waits for its answers.
inline constexpr int min_silence_ticks = 10, max_silence_ticks = 60'000;

class instrument {
public:
    // Starts with the saved settings, or with those of *RST; the chips get them with the first
    // tick. After a fault all channels begin at their maximum, and the error queue says so.
    instrument(playback& player, flash_port& flash, board_port& board);

    playback& player() { return player_; }
    board_port& board() { return board_; }
    const settings& now() const { return settings_; }  // the present settings
    status_register& operation() { return operation_; }
    status_register& questionable() { return questionable_; }

    void error(scpi_error e);
    scpi_error next_error() { return errors_.pop(); }
    std::size_t nof_errors() const { return errors_.size(); }

    // Each returns `none`, or the error; a returned error is not in the queue yet.
    scpi_error set_level(channel_index c, quarter_db level);
    scpi_error set_all(quarter_db level);
    // Wires the chip of this channel and the next one in series, or apart (layout.h).
    scpi_error set_series(channel_index c, bool series);
    scpi_error set_switch(int position);
    scpi_error set_underflow(fallback f);
    scpi_error set_silence(fallback f);
    scpi_error set_silence_ticks(int ticks);
    scpi_error set_trigger_out(bool on);
    scpi_error open(std::uint32_t channels, std::uint32_t period_ticks, trigger_source trigger);
    scpi_error save();
    scpi_error recall();
    void reset();
    // Carries out the part of *RST that had to wait for the end of a playback. It is called before
    // any other command, whose effect the reset would undo.
    void settle() {
        if (reset_wanted_ && !player_.active()) apply(settings_);
    }
    bool self_test() { return store_.check(); }

    void clear_status();
    bool operation_pending() const {
        return reset_wanted_ || player_.active() || player_.pending();
    }
    void tell_when_complete() {
        wants_completion_ = true;
        look_for_completion();
    }
    // Takes over the events of the tick: errors, events, operation complete.
    void poll();
    std::uint8_t status_byte() const;
    std::uint8_t take_esr();
    std::uint8_t esr_enable = 0, service_enable = 0;

private:
    void look_for_completion();
    void apply(const settings& s);
    scpi_error refused_while_active() const {
        return player_.active() ? scpi_error::settings_conflict : scpi_error::none;
    }

    playback& player_;
    board_port& board_;
    settings_store store_;
    settings settings_;
    error_queue errors_;
    status_register operation_, questionable_;
    std::uint8_t esr_ = esr_power_on;
    bool wants_completion_ = false, underflow_reported_ = false, reset_wanted_ = false;
    std::uint32_t underflows_ = 0, missed_ = 0;
    play_state last_state_ = play_state::idle;
};

}  // namespace wip::attenuator
