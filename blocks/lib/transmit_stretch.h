// SPDX-License-Identifier: GPL-3.0-or-later
// Which slot a transmitter makes next. Slots follow one another in a stretch; a late slot or an
// underflow breaks it: one slot of silence ends it, and another begins `restart` slots later.
#pragma once

#include <algorithm>
#include <optional>

#include "types/quantity.h"

namespace wip {

class transmit_stretch {
public:
    transmit_stretch(slot first, slot_count restart) : restart_(restart), next_(first) {}

    slot next() const { return next_; }
    bool begins() const { return begins_; }  // the next slot is the first of its stretch
    bool broken() const { return broken_; }  // the next slot is the silence that ends it

    void made() {
        begins_ = false;
        ++next_;
    }
    // Slots are left out: another stretch begins.
    void skip_to(slot s) {
        left_out_ = next_;
        after_ = next_ = s;
        begins_ = true;
    }
    void ended() {
        next_ = std::max(next_, resume_);
        broken_ = false;
        begins_ = true;
    }
    // The last one up to s that was made, of the stretch of s and the one before.
    slot made_until(slot s) const {
        const slot last = std::min(s, next_ - slot_count(1));
        return last < left_out_ || last >= after_ ? last : left_out_ - slot_count(1);
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
    slot left_out_{0}, after_{0};  // the last gap
    slot resume_{0};               // where the next stretch begins, when broken
    bool broken_ = false;
    bool begins_ = true;
};

}  // namespace wip
