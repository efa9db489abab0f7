// SPDX-License-Identifier: GPL-3.0-or-later
// A slot count that arrives in messages, one or a few slots further each time. A damaged message
// must not carry it away, since everything true would then be "in the past" for as long as the jump
// was far. So a step of more than `usual_step` (a gap in the samples, a lost connection) is only
// believed when the next message goes on from there; the first message of a jump is lost for it.
#pragma once

#include <cstdint>

#include "types/quantity.h"

namespace wip::host {

class slot_clock {
public:
    static constexpr slot_count usual_step{4};
    static constexpr slot_count largest_slip{30};  // backwards, still no damage: a new lock

    enum class verdict : std::uint8_t {
        advanced,  // value() is the offered slot now
        stale,     // not after value(), by little
        doubtful,  // far from value(), forwards or backwards: not believed (yet)
    };

    verdict offer(slot s) {
        if (!known_) return accept(s);
        const slot_count step = s - value_;
        if (step > slot_count(0) && step <= usual_step) return accept(s);
        if (step <= slot_count(0) && -step <= largest_slip) return verdict::stale;
        const bool goes_on =
            doubted_ && s > doubt_ && s - doubt_ <= usual_step && step > slot_count(0);
        if (goes_on) return accept(s);
        doubted_ = true;
        doubt_ = s;
        return verdict::doubtful;
    }

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
};

}  // namespace wip::host
