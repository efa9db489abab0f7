// SPDX-License-Identifier: GPL-3.0-or-later
// The times of a repeated event, in samples: start, start + period, ... (period 0: once). All are
// computed in integers from the absolute index.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "sample/sample_stage.h"

namespace wip::sample_model {

class event_times {
public:
    event_times(const char* what, double start_s, double period_s, double sample_rate) {
        check_range(std::string(what) + " start_s", start_s, 0, 1e6);
        check_range(std::string(what) + " period_s", period_s, 0, 1e6);
        if (period_s > 0) check_range(std::string(what) + " period_s", period_s, 1e-3, 1e6);
        start_ = std::llround(start_s * sample_rate);
        period_ = std::llround(period_s * sample_rate);
    }
    // Number of events at or before sample n.
    std::int64_t count(std::int64_t n) const noexcept {
        if (n < start_) return 0;
        return period_ > 0 ? 1 + (n - start_) / period_ : 1;
    }
    // The first event after sample n; INT64_MAX: none.
    std::int64_t next(std::int64_t n) const noexcept {
        if (n < start_) return start_;
        return period_ > 0 ? start_ + count(n) * period_ : INT64_MAX;
    }
    // The last event at or before n; INT64_MIN: none.
    std::int64_t last(std::int64_t n) const noexcept {
        const std::int64_t c = count(n);
        return c == 0 ? INT64_MIN : start_ + (c - 1) * period_;
    }

private:
    std::int64_t start_, period_;
};

}  // namespace wip::sample_model
