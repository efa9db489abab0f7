// SPDX-License-Identifier: GPL-3.0-or-later
// A slot count that arrives in messages, one or a few slots further each time. A damaged message
// must not carry it away, since everything true would then be "in the past" for as long as the jump
// was far. So a step of more than `usual_step` (a gap in the samples, a lost connection) is only
// accepted when the next message goes on from there; the first message of a jump is lost for it.
//
// The count of this end never goes back, whatever the other end's does: a count that is accepted
// although it is behind (its radio began anew, or its clock was set) continues here at the next
// number that fits it modulo a hyperframe, as in a receiver (blocks/lib/slot_number.h). So the
// frame numbers on the air stay right, and everything that is held by slot keeps its order.
#pragma once

#include <cstdint>

#include "types/hyperframe.h"
#include "types/quantity.h"

namespace wip::host {

class slot_clock {
public:
    static constexpr slot_count usual_step{4};
    // A receiver that locks anew may be so far behind without any damage.
    static constexpr slot_count largest_slip{30};

    enum class verdict : std::uint8_t {
        advanced,  // value() is the offered slot now
        stale,     // slightly behind value()
        doubtful,  // far from value(), forwards or backwards: not accepted (yet)
    };

    // `number`: the slot in the other end's count.
    verdict offer(slot number) {
        const slot s = here(number);
        if (!known_) return accept(s);
        const slot_count step = s - value_;
        if (step > slot_count(0) && step <= usual_step) return accept(s);
        if (step <= slot_count(0) && -step <= largest_slip) return verdict::stale;
        const bool goes_on = doubted_ && s > doubt_ && s - doubt_ <= usual_step;
        if (goes_on && step > slot_count(0)) return accept(s);
        if (goes_on) {
            const slot next = value_ + slot_count(1);
            ahead_ += next + up_to_fit(next, s.value) - s;
            return accept(here(number));
        }
        doubted_ = true;
        doubt_ = s;
        return verdict::doubtful;
    }

    // A slot of the other end's count in this end's, and back.
    slot here(slot number) const { return number + ahead_; }
    slot there(slot own) const { return own - ahead_; }

    bool known() const { return known_; }
    slot value() const { return value_; }

private:
    verdict accept(slot s) {
        known_ = true;
        doubted_ = false;
        value_ = s;
        return verdict::advanced;
    }

    bool known_ = false;
    bool doubted_ = false;
    slot value_;
    slot doubt_;
    // slots (whole hyperframes) by which this end's count is ahead of the other's
    slot_count ahead_{0};
};

}  // namespace wip::host
