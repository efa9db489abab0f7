// SPDX-License-Identifier: GPL-3.0-or-later
// The time of a free-running radio by the host's monotonic clock, from readings of it. A reading is
// older than the moment at which it arrives, never younger, so that each one bounds the radio's
// time from below: the tightest bound of the last ones is taken. A bound loosens by what the two
// oscillators may drift apart since. Any thread may add; any thread may ask.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "types/grid.h"

namespace wip::iq {

class radio_clock {
public:
    static constexpr double drift = 50e-6;  // relative drift between the clocks of radio and host

    // Adds a reading of the radio's clock, `time` (samples), which arrived at `arrived`, ns of the
    // monotonic clock. A radio whose clock has not begun has 0, which is no reading. One that was
    // set back forgets the former.
    void add(sample time, std::int64_t arrived) {
        if (time <= sample(0)) return;
        const std::lock_guard lock(mutex_);
        if (count_ > 0 && time < newest_) count_ = 0;
        newest_ = time;
        readings_[count_++ % readings_.size()] = {time, arrived};
    }
    // The earliest time that the radio can have now.
    std::optional<sample> at(std::int64_t now) const {
        const std::lock_guard lock(mutex_);
        if (count_ == 0) return std::nullopt;
        std::int64_t best = INT64_MIN;
        for (std::size_t i = 0; i < std::min(count_, readings_.size()); ++i) {
            const double s = static_cast<double>(now - readings_[i].arrived) * 1e-9 * (1 - drift);
            best = std::max(best,
                            readings_[i].time.value +
                                static_cast<std::int64_t>(s * static_cast<double>(sample_rate_hz)));
        }
        return sample(best);
    }
    bool known() const {
        const std::lock_guard lock(mutex_);
        return count_ > 0;
    }

private:
    struct reading {
        sample time;
        std::int64_t arrived = 0;
    };
    mutable std::mutex mutex_;
    std::array<reading, 32> readings_{};
    std::size_t count_ = 0;
    sample newest_;
};

}  // namespace wip::iq
