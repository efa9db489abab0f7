// SPDX-License-Identifier: GPL-3.0-or-later
// The numbers of received slots. The air carries them modulo a hyperframe of 4096 frames (82 s);
// the rest follows what has been received, and no two clocks have to agree:
//
//   - without lock the number is that of the last slot in lock, and the slots that have passed
//     since by the receiver's own clock (before the first lock: the slot in which that clock is)
//   - in lock it is the number nearest to that one which fits the air. From slot to slot clocks
//     20 ppm apart move by 0.1 samples, so in lock nothing accumulates
//   - a new lock may find the count wrong: by a few slots (20 ppm are 30 slots in 17 minutes),
//     then it is set right, forwards or back; or by any number (another base station, or one that
//     has restarted), then it advances to the next number that fits. It never goes back by more
//     than `largest_slip`
//
// If both radios have a common time (a cell on one computer, GPS), both count the same numbers from
// the start. Otherwise the numbers agree modulo a hyperframe, which is all that the base station's
// macd uses (macd/base_station.h).
#pragma once

#include <optional>

#include "phy/receiver/received_slot.h"
#include "types/grid.h"
#include "types/hyperframe.h"

namespace wip {

// Slot whose first sample is nearest to `start`.
constexpr slot nearest_slot(sample start) {
    return slot_of(start + sample_count(slot_samples / 2));
}

class slot_numbering {
public:
    static constexpr slot_count largest_slip{30};

    slot number(const phy::received_slot& received) {
        return number(received.start, received.locked, received.slot_in_hyperframe);
    }
    slot number(sample start, bool locked, std::int64_t slot_in_hyperframe) {
        if (!last_)
            anchor_ = {first_sample(nearest_slot(start)), nearest_slot(start)};
        else if (start + largest_slip_samples < last_->start)  // the clock was set back
            anchor_ = {start, last_->number + slot_count(1)};
        slot here = anchor_.number + (nearest_slot(sample((start - anchor_.start).value)) - slot());
        if (locked) {
            here += correction_to_fit(here, slot_in_hyperframe);
            anchor_ = {start, here};
        }
        last_ = {start, here};
        return here;
    }

private:
    static constexpr sample_count largest_slip_samples{largest_slip.value * slot_samples};

    static slot_count correction_to_fit(slot here, std::int64_t slot_in_hyperframe) {
        const slot_count up = up_to_fit(here, slot_in_hyperframe);
        const slot_count back = slot_count(hyperframe_slots) - up;
        return back <= largest_slip ? -back : up;
    }

    struct numbered {
        sample start;
        slot number;
    };
    numbered anchor_;
    std::optional<numbered> last_;
};

}  // namespace wip
