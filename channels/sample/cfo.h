// SPDX-License-Identifier: GPL-3.0-or-later
// Carrier frequency offset, with optional drift: y[n] = x[n] e^{j 2 pi phi(n)}. The phase is a
// 64-bit fraction of a turn that wraps by itself, phi(n) = n s + n(n-1)/2 d mod 2^64: exact from
// the integer index after any time, without a float that grows. s is the offset in units of fs/2^64
// = 4e-13 Hz, d the drift in units of fs^2/2^64 = 3.2e-6 Hz/s (the offset at sample n is s + (n -
// 1/2) d).
#pragma once

#include "sample/sample_stage.h"

namespace wip::sample_model {

struct cfo_config {
    double hz = 0;              // +-1 MHz
    double drift_hz_per_s = 0;  // +-100 kHz/s
};

class cfo : public memoryless {
public:
    cfo(const cfo_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::uint64_t phase(std::int64_t n) const noexcept;  // turns * 2^64

private:
    std::uint64_t step_, drift_;
};

}  // namespace wip::sample_model
