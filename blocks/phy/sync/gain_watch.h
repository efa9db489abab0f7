// SPDX-License-Identifier: GPL-3.0-or-later
// Finds where a gain step really took effect. A radio was commanded to change its gain at a sample;
// it may do so there, some microseconds later, or, if it cannot time the command (b200), when the
// command arrives: ten slots early.
//
// From the announcement until `lasting` slots after the step was due, the levels of four OFDM
// symbols of each slot, from its pilots and control symbols (always sent, all of one power), are
// compared, each with the one before. If the level moves by more than half of the step in its
// direction, the gain is not the assumed one from there on, until it moves back. If it moves by
// more than a decibel only, the step may lie within that symbol, and the next symbol is compared
// with the last one before it: if it has not moved by half of the step, it was a fade. A slot with
// the step in it, or perhaps in its last symbol, is `mixed`: no scale fits it, and it has to be
// ignored. Its last symbol tells which gain holds after it. Where the scale changes, a small
// difference of level is the error of the step, since radios are not exact.
//
// Levels are means of 50 or 100 elements over the band, 0.3 dB of spread at 10 dB, so a step can be
// detected from least_step on; smaller ones are assumed to be in time. A fade is mistaken for a
// step if it is as quick, which it is in the depth of a null: levels 10 dB below the mean are
// ignored.
#pragma once

#include <array>
#include <cstdint>

#include "phy/estimation/pilot_score.h"
#include "types/db.h"
#include "types/grid.h"

namespace wip::phy {

class gain_watch {
public:
    static constexpr db least_step{4};
    static constexpr int lasting = 4;  // slots

    struct verdict {
        bool mixed = false;    // the slot is to be ignored
        bool changes = false;  // at its end the other gain holds
    };

    void stop() noexcept { watched_until_ = INT64_MIN; }
    void reset() noexcept {
        stop();
        mean_ = 0;
        forget();
    }
    // The slot before this one is missing.
    void forget() noexcept { last_ = 0; }
    // The radio's gain grows by `step` at `from`.
    void expect(sample from, db step) noexcept;
    // The samples are scaled for the new gain from here on.
    void applied(bool on) noexcept {
        rescaled_ = on != applied_;
        applied_ = on;
    }
    bool applied() const noexcept { return applied_; }
    // Call it for each slot in turn, with elements at the scale of the gain that is taken as true.
    verdict look(const slot_planes& y, std::int64_t start) noexcept;
    bool active(std::int64_t start) const noexcept { return start < watched_until_; }

private:
    void learn(double level) noexcept;

    std::int64_t watched_until_ = INT64_MIN;
    double half_step_ = 1;  // half of the step, as a ratio of powers
    bool applied_ = true;
    bool rescaled_ = false;  // since the last symbol
    double last_ = 0;        // level of the symbol before; 0: none
    double mean_ = 0;        // mean of the levels
};

}  // namespace wip::phy
