// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/playback.h"

#include <algorithm>
#include <bit>

namespace wip::attenuator {

// --- the main loop ---

channel_levels playback::levels() const {
    channel_levels all{};
    for (int c = 0; c < nof_chips; ++c) all[static_cast<unsigned>(c)] = level({c});
    return all;
}

bool playback::begin(const play_plan& plan) {
    if (active()) return false;
    plan_ = plan;
    ring_.reset(std::popcount(plan.channels));
    underflows_.store(0, std::memory_order_relaxed);
    triggered_.store(false, std::memory_order_relaxed);
    heard_.store(true, std::memory_order_relaxed);
    halt_.store(false, std::memory_order_relaxed);
    starved_.store(false, std::memory_order_relaxed);
    state_.store(play_state::armed, std::memory_order_relaxed);
    active_.store(true, std::memory_order_release);
    return true;
}

playback::accepted playback::accept(std::uint32_t first, std::span<const std::uint8_t> levels,
                                    bool last) {
    if (!active()) return accepted::not_open;
    const std::uint32_t columns = ring_.columns();
    if (levels.size() % columns != 0) return accepted::not_whole;
    const auto steps = static_cast<std::uint32_t>(levels.size() / columns);
    const std::uint32_t received = ring_.received();
    if (first > received || first > no_end - 1 - steps) return accepted::gap;
    const std::uint32_t known = std::min(received - first, steps), fresh = steps - known;
    // Behind the end no steps are accepted; the same end may be sent again.
    if (ring_.ended() && (fresh > 0 || (last && first + steps != received))) return accepted::gap;
    std::size_t byte = 0;
    for (std::uint32_t s = 0; s < steps; ++s)
        for (int c = 0; c < nof_chips; ++c)
            if ((plan_.channels >> c & 1) != 0 && quarter_db{levels[byte++]} > layout().max_of({c}))
                return accepted::out_of_range;
    if (fresh > ring_.free()) return accepted::no_room;
    for (std::uint32_t s = known; s < steps; ++s)
        ring_.push(levels.subspan(std::size_t{s} * columns, columns));
    if (last && !ring_.ended()) {
        // An end before steps that were received already is a mistake of the host, not the end of
        // its table.
        if (first + steps != ring_.received()) return accepted::gap;
        ring_.end_here();
    }
    return accepted::all;
}

void playback::stop() {
    if (active()) halt_.store(true, std::memory_order_release);
}

bool playback::trigger(trigger_source from) {
    if (!active() || state() != play_state::armed || plan_.trigger != from) return false;
    triggered_.store(true, std::memory_order_release);
    return true;
}

bool playback::set_layout(chip_layout layout) {
    if (active()) return false;
    series_pairs_.store(layout.series(), std::memory_order_relaxed);
    return set_levels(layout.all_at_max());
}

bool playback::set_level(channel_index c, quarter_db level) {
    if (active()) return false;
    levels_[static_cast<unsigned>(c.value)].store(level.value, std::memory_order_relaxed);
    const unsigned chips = layout().in_series(c) ? 3u << c.value : 1u << c.value;
    dirty_.fetch_or(chips, std::memory_order_release);
    return true;
}

bool playback::set_levels(const channel_levels& levels) {
    if (active()) return false;
    for (int c = 0; c < nof_chips; ++c)
        levels_[static_cast<unsigned>(c)].store(levels[static_cast<unsigned>(c)].value,
                                                std::memory_order_relaxed);
    dirty_.fetch_or(dirty_chips, std::memory_order_release);
    return true;
}

bool playback::set_switch(int position) {
    if (active()) return false;
    switch_position_.store(static_cast<std::uint8_t>(position), std::memory_order_relaxed);
    dirty_.fetch_or(dirty_switch, std::memory_order_release);
    return true;
}

// --- the tick ---

void playback::end_with(play_state state) noexcept {
    starved_.store(false, std::memory_order_relaxed);
    state_.store(state, std::memory_order_relaxed);
    active_.store(false, std::memory_order_release);
}

void playback::to_maximum(std::uint8_t channels) noexcept {
    for (int c = 0; c < nof_chips; ++c)
        if ((channels >> c & 1) != 0)
            levels_[static_cast<unsigned>(c)].store(layout().max_of({c}).value,
                                                    std::memory_order_relaxed);
}

void playback::put_step(std::uint32_t step) noexcept {
    const auto column = ring_.at(step);
    std::size_t k = 0;
    for (int c = 0; c < nof_chips; ++c)
        if ((plan_.channels >> c & 1) != 0)
            levels_[static_cast<unsigned>(c)].store(column[k++], std::memory_order_relaxed);
}

bool playback::may_start() const noexcept {
    if (plan_.trigger != trigger_source::immediate)
        return triggered_.load(std::memory_order_acquire);
    return ring_.end() != no_end || ring_.half_full();
}

void playback::play(std::uint32_t passed, tick_output& out) noexcept {
    elapsed_ += passed;
    due_ += std::min(elapsed_ / plan_.period_ticks, no_end - due_);
    elapsed_ %= plan_.period_ticks;
    const std::uint32_t due = due_, next = ring_.played();
    if (due < next) return;  // the previous step still lasts
    const std::uint32_t end = ring_.end();
    if (due >= end) {
        // Missed ticks skip the last steps, but not the levels that are held after them.
        if (next < end && end > 0 && !ring_.at(end - 1).empty()) {
            put_step(end - 1);
            dirty_.fetch_or(dirty_chips, std::memory_order_relaxed);
        }
        ring_.played_up_to(end);
        end_with(play_state::ended);
        return;
    }
    const bool there = !ring_.at(due).empty();
    starved_.store(!there, std::memory_order_relaxed);
    if (!there) underflows_.fetch_add(1, std::memory_order_relaxed);
    if (there) {
        put_step(due);
        out.is_step = true;
        out.step = due;
    } else if (plan_.on_underflow == fallback::maximum) {
        to_maximum(plan_.channels);
    }
    ring_.played_up_to(due + 1);
    if (there || plan_.on_underflow == fallback::maximum)
        dirty_.fetch_or(dirty_chips, std::memory_order_relaxed);
}

tick_output playback::tick(std::uint32_t passed) noexcept {
    tick_output out;
    if (active()) {
        quiet_ = heard_.exchange(false, std::memory_order_acquire) ? 1 : quiet_ + passed;
        if (halt_.exchange(false, std::memory_order_acquire)) {
            end_with(play_state::stopped);
        } else if (quiet_ >= plan_.silence_ticks) {
            if (plan_.on_silence == fallback::maximum) {
                to_maximum(layout().channels());
                dirty_.fetch_or(dirty_chips, std::memory_order_relaxed);
            }
            end_with(play_state::silent);
        } else if (state() == play_state::playing) {
            play(passed, out);
        } else if (may_start()) {
            state_.store(play_state::playing, std::memory_order_relaxed);
            due_ = elapsed_ = 0;
            out.trigger_pulse = plan_.trigger_out;
            play(0, out);
        }
    }
    out.end_pulse = pulse_;
    pulse_ = out.trigger_pulse;
    const std::uint32_t dirty = dirty_.exchange(0, std::memory_order_acquire);
    const channel_levels now = levels();
    for (int k = 0; k < nof_chips; ++k)
        if ((dirty >> k & 1) != 0)
            out.word[static_cast<unsigned>(k)] = spi_word(layout().level_of_chip(k, now));
    out.chips = static_cast<std::uint8_t>(dirty & dirty_chips);
    out.set_switch = (dirty & dirty_switch) != 0;
    out.switch_position = switch_position_.load(std::memory_order_relaxed);
    return out;
}

}  // namespace wip::attenuator
