// SPDX-License-Identifier: GPL-3.0-or-later
// A predictor that takes the place of another in a running receiver. A new one has no past: for 60
// to 200 slots it can only repeat the last value, at 75 km/h an NMSE of 0.75 instead of 0.03 three
// slots ahead. So it learns first, from what the one in use is given, and then takes its place with
// all that it has learned, its NMSE included.
//
// learning_slots: all methods are then within 10 % of what they are in the end
// (docs/results/curves.md). Slots without a measurement count, for a receiver that has lost its
// signal must be able to change, too. It takes over at the beginning of the slot after them, so the
// predictions of a slot come from current(). Nothing is allocated or freed; the replaced predictor
// waits to be taken.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "phy/prediction/snr_predictor.h"

namespace wip::phy {

class predictor_succession {
public:
    static constexpr int learning_slots = 300;

    explicit predictor_succession(std::unique_ptr<snr_predictor> first)
        : current_(std::move(first)) {}

    // Begins to learn. Hands back one that was learning and now never takes over, or nullptr.
    std::unique_ptr<snr_predictor> succeed(std::unique_ptr<snr_predictor> next) noexcept {
        learned_ = 0;
        next_.swap(next);
        return next;
    }
    // The one that was replaced, once; else nullptr.
    std::unique_ptr<snr_predictor> take_retired() noexcept { return std::move(retired_); }
    bool learning() const noexcept { return next_ != nullptr; }
    const snr_predictor& current() const noexcept { return *current_; }

    void reset() noexcept {
        current_->reset();
        if (next_) next_->reset();
    }
    // One of update() and skip() is called for each slot.
    void update(const bin_measurement& m, std::array<float, nof_bins>& predicted) noexcept {
        begin_slot();
        current_->update(m, predicted);
        std::array<float, nof_bins> unused;
        if (next_) next_->update(m, unused);
    }
    void skip() noexcept {
        begin_slot();
        current_->skip();
        if (next_) next_->skip();
    }
    // Begins a slot without a signal to be measured, of which neither predictor is informed.
    void pass() noexcept { begin_slot(); }

private:
    void begin_slot() noexcept {
        if (!next_) return;
        if (learned_ == learning_slots && !retired_)
            retired_ = std::exchange(current_, std::move(next_));
        else
            learned_ = std::min(learned_ + 1, learning_slots);
    }

    std::unique_ptr<snr_predictor> current_, next_, retired_;
    int learned_ = 0;  // slots that next_ has been given
};

}  // namespace wip::phy
