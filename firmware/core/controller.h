// SPDX-License-Identifier: GPL-3.0-or-later
// The main loop's half of the firmware without its hardware: bytes of the serial line in, bytes
// out. Text and frames share the line (frame.h); either says that the host is there.
#pragma once

#include <cstdint>
#include <span>

#include "core/frame.h"
#include "core/instrument.h"
#include "core/output_buffer.h"
#include "core/scpi_interpreter.h"

namespace wip::attenuator {

class controller {
public:
    // A frame that pauses for so many ticks is dropped.
    static constexpr std::uint32_t frame_timeout_ticks = 500;

    controller(playback& player, flash_port& flash, board_port& board)
        : instrument_(player, flash, board), scpi_(instrument_, out_) {}

    void on_byte(std::uint8_t byte);
    // Bytes were lost before they came here (the line was faster than the loop).
    void on_overrun() { instrument_.error(scpi_error::input_overrun); }
    // Call once in every turn of the main loop.
    void poll();
    void on_external_trigger() { instrument_.player().trigger(trigger_source::external); }
    output_buffer& output() { return out_; }
    instrument& state() { return instrument_; }

private:
    void on_message(std::span<const std::uint8_t> message);

    output_buffer out_;
    instrument instrument_;
    scpi_interpreter scpi_;
    frame_reader frames_;
    std::uint32_t damaged_ = 0, last_byte_tick_ = 0;
};

}  // namespace wip::attenuator
