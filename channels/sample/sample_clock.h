// SPDX-License-Identifier: GPL-3.0-or-later
// A receiver with a sampling clock of its own, `ppm` fast: its sample n is taken at the medium's
// time n - d(n), d(n) = n ppm/10^6. Input and output run at different rates, so this is no stage:
// it is fed samples of the medium's time and gives samples of its own, for ever. After an hour at
// 10 ppm it has given 276480 samples more than it was fed, and nothing has been delayed or used up
// (the stage `clock_offset`, for a path, moves a delay instead).
//
// d(n) is exact (ppm in parts of 10^12, 2^-32 samples) at every multiple of 64; interpolation as in
// moving_delay.h, its 7 samples of latency included in what a sample contains, not in when it may
// be had: sample n needs the input up to about its own time.
#pragma once

#include <span>

#include "sample/moving_delay.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

class sample_clock {
public:
    explicit sample_clock(double ppm);  // +-100

    // How many samples of its own (0, 1, ...) the inputs before `time` suffice for.
    std::int64_t ready(std::int64_t time) const noexcept;
    // The medium's time of its sample n, rounded up.
    std::int64_t time_of(std::int64_t n) const noexcept;
    // Inputs that its sample n needs.
    std::int64_t newest_input(std::int64_t n) const noexcept;
    std::int64_t oldest_input(std::int64_t n) const noexcept {
        return newest_input(n) - moving_delay::width + 1;
    }

    // Begin again with zeros before `time`.
    void restart(std::int64_t time) noexcept { history_.restart(time); }
    std::int64_t fed() const noexcept { return history_.end(); }
    void feed(std::span<const cf32> in) noexcept;  // at most largest_feed
    // Writes the clock's samples from `first` on, at most largest_output. All inputs that they need
    // must have been fed, and none of them may be more than `memory` before the end of what was
    // fed.
    void work(std::int64_t first, std::span<cf32> out) noexcept;

    static constexpr std::int64_t largest_feed = history_buffer::largest_append;
    static constexpr std::size_t largest_output = 1024;
    std::int64_t parts() const noexcept { return parts_; }  // of 10^12

private:
    static constexpr std::int64_t memory = 2048;
    std::int64_t delay(std::int64_t n) const noexcept;

    std::int64_t parts_;
    moving_delay filter_;
    history_buffer history_;
};

}  // namespace wip::sample_model
