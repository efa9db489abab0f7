// SPDX-License-Identifier: GPL-3.0-or-later
// A receiver with a sampling clock of its own, `ppm` fast: its sample n is taken at the medium's
// time n - d(n), d(n) = n ppm/10^6. Input and output have different rates, so this is no stage: it
// takes samples at the medium's rate and gives samples at its own, without an end. After an hour at
// 10 ppm it has given 276480 samples more than it has taken (the stage `clock_offset`, for a path,
// changes a delay instead, which has limits).
//
// d(n) is exact (ppm in parts of 10^12, 2^-32 samples) at every multiple of 64; interpolation as in
// moving_delay.h. Its latency of 7 samples delays the signal, not the output: sample n needs the
// input up to about its own time.
#pragma once

#include <span>

#include "sample/moving_delay.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

class sample_clock {
public:
    explicit sample_clock(double ppm);  // +-100

    // The number of samples (0, 1, ...) that can be computed from the inputs before `time`.
    std::int64_t ready(std::int64_t time) const noexcept;
    // The medium's time of the clock's sample n, rounded up.
    std::int64_t time_of(std::int64_t n) const noexcept;
    // The newest and the oldest input that sample n needs.
    std::int64_t newest_input(std::int64_t n) const noexcept;
    std::int64_t oldest_input(std::int64_t n) const noexcept {
        return newest_input(n) - moving_delay::width + 1;
    }

    // Begins again, with zeros before `time`.
    void restart(std::int64_t time) noexcept { history_.restart(time); }
    std::int64_t fed() const noexcept { return history_.end(); }
    void feed(std::span<const cf32> in) noexcept;  // at most largest_feed
    // Writes the clock's samples from `first` on, at most largest_output. All inputs that they need
    // must have been fed, and be among the last `memory` ones.
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
