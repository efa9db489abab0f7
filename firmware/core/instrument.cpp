// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/instrument.h"

namespace wip::attenuator {

namespace {

constexpr std::uint32_t max_period_ticks = 10'000;  // 10 s at a tick of 1 ms

}  // namespace

instrument::instrument(playback& player, flash_port& flash, board_port& board)
    : player_(player), board_(board), store_(flash) {
    settings s = store_.load().value_or(settings::reset({}));
    // After a fault the start was not requested, so the saved levels cannot be relied on.
    if (board.after_fault()) {
        s.levels = chip_layout(s.series).all_at_max();
        error(scpi_error::restarted);
    }
    apply(s);
}

void instrument::apply(const settings& s) {
    settings_ = s;
    reset_wanted_ = false;
    player_.set_layout(chip_layout(s.series));
    player_.set_levels(s.levels);
    player_.set_switch(s.switch_position);
}

void instrument::error(scpi_error e) {
    if (e == scpi_error::none) return;
    esr_ |= esr_bit_of(e);
    if (!errors_.push(e)) esr_ |= esr_bit_of(scpi_error::queue_overflow);
}

scpi_error instrument::set_level(channel_index c, quarter_db level) {
    const chip_layout layout = player_.layout();
    if (!layout.exists(c)) return scpi_error::hardware_missing;
    if (level > layout.max_of(c)) return scpi_error::data_out_of_range;
    return player_.set_level(c, level) ? scpi_error::none : scpi_error::settings_conflict;
}

scpi_error instrument::set_all(quarter_db level) {
    const chip_layout layout = player_.layout();
    channel_levels levels{};
    for (int c = 0; c < nof_chips; ++c) {
        if (!layout.exists({c})) continue;
        if (level > layout.max_of({c})) return scpi_error::data_out_of_range;
        levels[static_cast<unsigned>(c)] = level;
    }
    return player_.set_levels(levels) ? scpi_error::none : scpi_error::settings_conflict;
}

scpi_error instrument::set_series(channel_index c, bool series) {
    if (c.value % 2 != 0) return scpi_error::hardware_missing;
    const int bit = 1 << c.value / 2;
    const auto mask =
        static_cast<std::uint8_t>(series ? settings_.series | bit : settings_.series & ~bit);
    if (mask == settings_.series) return refused_while_active();
    // With another wiring the levels of the channels have no meaning any more.
    if (!player_.set_layout(chip_layout(mask))) return scpi_error::settings_conflict;
    settings_.series = mask;
    return scpi_error::none;
}

scpi_error instrument::set_switch(int position) {
    if (position < 1 || position > nof_switch_positions) return scpi_error::data_out_of_range;
    return player_.set_switch(position) ? scpi_error::none : scpi_error::settings_conflict;
}

// The reaction of a playback to missing steps applies from the next playback on: the running one
// has its own copy of the plan.
scpi_error instrument::set_underflow(fallback f) {
    settings_.on_underflow = f;
    return scpi_error::none;
}
scpi_error instrument::set_silence(fallback f) {
    settings_.on_silence = f;
    return scpi_error::none;
}
scpi_error instrument::set_silence_ticks(int ticks) {
    if (ticks < min_silence_ticks || ticks > max_silence_ticks)
        return scpi_error::data_out_of_range;
    settings_.silence_ticks = static_cast<std::uint16_t>(ticks);
    return scpi_error::none;
}
scpi_error instrument::set_trigger_out(bool on) {
    settings_.trigger_out = on;
    return scpi_error::none;
}

scpi_error instrument::open(std::uint32_t channels, std::uint32_t period_ticks,
                            trigger_source trigger) {
    if (channels == 0 || channels > 0xff || period_ticks == 0 || period_ticks > max_period_ticks)
        return scpi_error::data_out_of_range;
    if ((channels & ~unsigned{player_.layout().channels()}) != 0)
        return scpi_error::hardware_missing;
    play_plan plan;
    plan.channels = static_cast<std::uint8_t>(channels);
    plan.period_ticks = static_cast<std::uint16_t>(period_ticks);
    plan.trigger = trigger;
    plan.on_underflow = settings_.on_underflow;
    plan.on_silence = settings_.on_silence;
    plan.silence_ticks = settings_.silence_ticks;
    plan.trigger_out = settings_.trigger_out;
    if (!player_.begin(plan)) return scpi_error::settings_conflict;
    underflows_ = 0;
    underflow_reported_ = false;
    last_state_ = play_state::armed;
    return scpi_error::none;
}

// The processor stalls while the flash erases, and the tick with it: refused during a playback.
scpi_error instrument::save() {
    if (player_.active()) return scpi_error::settings_conflict;
    settings_.levels = player_.levels();
    settings_.switch_position = static_cast<std::uint8_t>(player_.switch_position());
    return store_.save(settings_) ? scpi_error::none : scpi_error::mass_storage;
}

scpi_error instrument::recall() {
    if (player_.active()) return scpi_error::settings_conflict;
    const auto saved = store_.load();
    if (!saved) return scpi_error::mass_storage;
    apply(*saved);
    return scpi_error::none;
}

// The next tick stops a running playback; the levels of *RST go to the chips after that.
void instrument::reset() {
    wants_completion_ = false;
    settings_ = settings::reset(player_.layout());
    reset_wanted_ = true;
    player_.stop();
    settle();
}

void instrument::clear_status() {
    errors_.clear();
    esr_ = 0;
    operation_.event = questionable_.event = 0;
    wants_completion_ = false;
}

void instrument::poll() {
    settle();
    const play_state state = player_.state();
    const std::uint32_t underflows = player_.underflows();
    if (underflows == 0) underflow_reported_ = false;
    // Consecutive missing steps make one entry.
    if (underflows != underflows_) {
        if (!underflow_reported_) error(scpi_error::underflow);
        underflow_reported_ = true;
        underflows_ = underflows;
    } else {
        underflow_reported_ = underflow_reported_ && player_.starved();
    }
    if (state != last_state_ && state == play_state::silent) error(scpi_error::host_silent);
    last_state_ = state;
    if (const std::uint32_t missed = board_.missed_ticks(); missed != missed_) {
        error(scpi_error::ticks_missed);
        missed_ = missed;
    }
    unsigned operation = player_.pending() ? unsigned{operation_settling} : 0u;
    if (state == play_state::armed) operation |= operation_waits_for_trigger;
    if (state == play_state::playing) operation |= operation_playing;
    operation_.update(static_cast<std::uint16_t>(operation));
    unsigned questionable = state == play_state::silent ? unsigned{questionable_silent} : 0u;
    if (underflow_reported_) questionable |= questionable_underflow;
    questionable_.update(static_cast<std::uint16_t>(questionable));
    look_for_completion();
}

void instrument::look_for_completion() {
    if (!wants_completion_ || operation_pending()) return;
    esr_ |= esr_operation_complete;
    wants_completion_ = false;
}

std::uint8_t instrument::status_byte() const {
    unsigned b = 0;
    if (errors_.size() > 0) b |= stb_errors;
    if (questionable_.summary()) b |= stb_questionable;
    if ((esr_ & esr_enable) != 0) b |= stb_event_status;
    if (operation_.summary()) b |= stb_operation;
    if ((b & service_enable & ~unsigned{stb_master}) != 0) b |= stb_master;
    return static_cast<std::uint8_t>(b);
}

std::uint8_t instrument::take_esr() {
    const std::uint8_t e = esr_;
    esr_ = 0;
    return e;
}

}  // namespace wip::attenuator
