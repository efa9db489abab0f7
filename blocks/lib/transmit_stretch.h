// SPDX-License-Identifier: GPL-3.0-or-later
// Which slot a transmitter makes next. Slots follow one another in a stretch, which is one burst of
// the radio. A late slot, an underflow or a slot that cannot be made ends it by a filler of zeros,
// and another stretch begins on its own time: after an event `restart` slots later. A radio looks
// at a time only where a burst begins, so that a gap inside of a burst would move all that follows.
// The filler is shorter than one slot, for a burst whose time is not behind the end of the one
// before is late; and it has more than one sample, for the FPGA of some radios loses the end of a
// burst of one sample.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "types/grid.h"

namespace wip {

class transmit_stretch {
public:
    static constexpr std::int64_t filler_samples = 256;
    static_assert(filler_samples >= 2 && filler_samples < slot_samples / 2);

    transmit_stretch(slot first, slot_count restart)
        : restart_(restart), next_(first), left_out_(first), after_(first) {}

    slot next() const { return next_; }
    bool begins() const { return begins_; }  // the next slot is the first of its stretch
    bool broken() const { return broken_; }  // the filler that ends it is next

    void made() {
        begins_ = false;
        ++next_;
    }
    // Slots are left out, and the filler has ended the stretch before: another one begins.
    void skip_to(slot s) {
        if (!begins_) left_out_ = next_;
        after_ = next_ = s;
        resume_ = std::max(resume_, s);
        broken_ = false;
        begins_ = true;
    }
    // The filler has ended a broken stretch.
    void ended() { skip_to(std::max(next_, resume_)); }
    bool is_left_out(slot s) const { return s >= left_out_ && s < after_; }
    // The last one up to s that was made, of the stretch of s and the one before.
    slot made_until(slot s) const {
        const slot last = std::min(s, next_ - slot_count(1));
        return is_left_out(last) ? left_out_ - slot_count(1) : last;
    }
    // Events come from the device's past: those of a stretch that is already given up do not count.
    void fault(std::optional<slot> at) {
        const slot happened = at.value_or(next_);
        if (begins_ || happened < resume_) return;
        broken_ = true;
        resume_ = std::max(happened, next_) + restart_;
    }

private:
    slot_count restart_;
    slot next_;
    slot left_out_, after_;  // the last gap
    slot resume_{0};         // where the next stretch begins, when broken
    bool broken_ = false;
    bool begins_ = true;
};

}  // namespace wip
