// SPDX-License-Identifier: GPL-3.0-or-later
// A frequency or gain that changes at given samples, and the phase of the radio with each value, in
// turns. Timed commands may be entered ahead of time and take effect at their exact sample.
#pragma once

#include <algorithm>
#include <vector>

#include "mix/tick.h"

namespace wip::mix {

class tuning {
public:
    explicit tuning(double value) : changes_{{INT64_MIN, value, 0}} {}

    // Sets the value from `time` on; a later call for the same time replaces the earlier one.
    void set(tick time, double value, double turns = 0) {
        auto at = std::lower_bound(changes_.begin(), changes_.end(), time,
                                   [](const change& c, tick t) { return c.time < t; });
        if (at != changes_.end() && at->time == time)
            at->value = value, at->turns = turns;
        else
            changes_.insert(at, {time, value, turns});
    }
    // Sets the value from `time` on, and cancels changes at later times.
    void set_and_cancel_later(tick time, double value) {
        while (changes_.size() > 1 && changes_.back().time >= time) changes_.pop_back();
        set(time, value);
    }
    double at(tick time) const noexcept { return change_at(time)->value; }
    double turns_at(tick time) const noexcept { return change_at(time)->turns; }
    std::size_t nof_changes() const noexcept { return changes_.size(); }
    // First time after `time` at which the value changes.
    tick next_change(tick time) const noexcept {
        auto next = change_at(time) + 1;
        return next == changes_.end() ? never : next->time;
    }
    void forget_before(tick time) {
        const auto keep = change_at(time);
        changes_.erase(changes_.begin(), changes_.begin() + (keep - changes_.begin()));
        changes_.front().time = INT64_MIN;
    }

private:
    struct change {
        tick time;
        double value, turns;
    };
    std::vector<change>::const_iterator change_at(tick time) const noexcept {
        return std::upper_bound(changes_.begin() + 1, changes_.end(), time,
                                [](tick t, const change& c) { return t < c.time; }) -
               1;
    }
    std::vector<change> changes_;
};

}  // namespace wip::mix
