// SPDX-License-Identifier: GPL-3.0-or-later
// When a slot is made for a radio whose clock does not wait. It is begun `lead` slots before it is
// on the air; half of that is for macd, which plans it, the other half for modulation and
// transport. A slot that cannot be made in time any more is skipped, and the next ones keep the
// times of their numbers, so only the late slot is lost.
#pragma once

#include <algorithm>

#include "types/grid.h"

namespace wip {

class transmit_pace {
public:
    explicit transmit_pace(slot_count lead) : lead_(lead) {}

    // False: the radio's clock waits for samples, so nothing is paced.
    explicit operator bool() const { return lead_ > slot_count(0); }
    slot_count lead() const { return lead_; }

    sample begin_of(slot s) const { return first_sample(s - lead_); }
    // The time by which the plan of a slot is needed; without it the slot is sent empty.
    sample deadline_of(slot s) const { return first_sample(s - slot_count(transport())); }
    // The first slot that can be made at that time, not before `next`.
    slot possible(slot next, sample now) const {
        const slot soonest = slot_of(now) + slot_count(transport() + 1);
        return std::max(next, soonest);
    }

private:
    std::int64_t transport() const { return std::max<std::int64_t>(1, lead_.value / 2); }
    slot_count lead_;
};

}  // namespace wip
