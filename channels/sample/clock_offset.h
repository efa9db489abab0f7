// SPDX-License-Identifier: GPL-3.0-or-later
// A sampling clock that is `ppm` fast, as a stage: sample n is taken at the sender's time n - d(n),
// d(n) = d0 + n ppm/10^6 (n from the medium's time zero). A fast clock therefore sees a delay that
// grows, a slow one a delay that shrinks from the store d0; a stage cannot read later samples, so
// at the limits (d = 0 or d = max_delay_samples) the delay stays where it is: 65536 samples last 28
// minutes at 5 ppm. A receiver of the medium has no such end: its clock is a sample_clock.
//
// d(n) is computed in integers (ppm in units of 10^-6, i.e. parts in 10^12; 2^-32 samples), exact
// at every multiple of 64; interpolation: moving_delay.h. Only the sampling changes here; for an
// oscillator that also makes the carrier, add a cfo of ppm times the carrier frequency.
#pragma once

#include "sample/history_buffer.h"
#include "sample/moving_delay.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

struct clock_offset_config {
    double ppm = 0;                   // +-100
    double start_delay_samples = 0;   // d0, 0 to max_delay_samples; for ppm < 0 it must be given
    double max_delay_samples = 4096;  // memory; 16 to 1000000
};

class clock_offset {
public:
    clock_offset(const clock_offset_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::int64_t memory() const noexcept { return memory_; }
    std::int64_t latency() const noexcept { return moving_delay::latency; }
    // d(n) in units of 2^-32 samples.
    std::int64_t delay(std::int64_t n) const noexcept;

private:
    moving_delay filter_;
    std::int64_t parts_;          // clock offset in units of 10^-12
    std::int64_t start_, limit_;  // 2^-32 samples
    std::int64_t memory_;
    history_buffer history_;
};

}  // namespace wip::sample_model
