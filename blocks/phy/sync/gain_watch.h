// SPDX-License-Identifier: GPL-3.0-or-later
// Where a gain step really fell. A radio was told to change its gain at a sample; it may do so
// there, some microseconds later, or, if it cannot time the command (b200), when the command
// arrives: ten slots early.
//
// From the announcement until `lasting` slots after the step was due, the levels of four OFDM
// symbols of each slot, from its pilots and control symbols (always sent, all of one power), are
// compared, each with the one before. Where the level moves by more than half of the step in its
// direction, from there on the other gain holds than the one that is taken for true, until it moves
// back; where it moves by more than a decibel, the step may fall into that symbol, and the next one
// is compared with the last that was whole: where it has not moved by half of the step then, it was
// a fade. A slot into which the step falls, or its last symbol may, is mixed, for no scale fits it,
// and to be ignored; its last symbol tells which gain holds behind it. Where the scale changes, a
// level that is not quite the one before is the step's error, for radios are not exact.
//
// Levels are means of 50 or 100 elements over the band, 0.3 dB of spread at 10 dB, so a step that
// can be told is one of least_step dB or more; smaller ones are accepted to be in time. A fade is
// mistaken for a step if it is as quick, which it is in the depth of a null: what is 10 dB below
// the mean level tells nothing.
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

    void stop() noexcept { until_ = INT64_MIN; }
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
    bool active(std::int64_t start) const noexcept { return start < until_; }

private:
    void learn(double level) noexcept;

    std::int64_t until_ = INT64_MIN;
    double half_ = 1;  // half of the step, as a ratio of powers
    bool applied_ = true;
    bool rescaled_ = false;  // since the last symbol
    double last_ = 0;        // level of the symbol before; 0: none
    double mean_ = 0;        // of the levels
};

}  // namespace wip::phy
