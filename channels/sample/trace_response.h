// SPDX-License-Identifier: GPL-3.0-or-later
// A filter with given gains of 25 bins: 32 coefficients, minimum phase, so that what it spreads is
// as short as those gains allow and lies behind its first sample (prefix: 85 samples).
//
//   log amplitude over frequency   cubic through the middles of the bins (Catmull-Rom); outside the
//                                  band on a cosine from the highest bin back to the lowest
//   its cepstrum                   linear in the 25 gains in dB: a table, made once
//   the coefficients               the series of exp(cepstrum), h[n] = 1/n sum_k k c[k] h[n-k]: no
//                                  transform, and exact however short the filter
//   once more                      with what the power of each bin, a mean over five of its
//                                  subcarriers, is off: the mean of a curve is not its middle
//
// jakes at 16 dB: 0.08 dB rms of the bins (0.3 without the second round). Neighbours 12 dB apart
// all over the band are too much for 32 coefficients (tests/unit/channels/test_trace_filter.cpp).
#pragma once

#include <array>
#include <vector>

#include "types/grid.h"

namespace wip::sample_model {

using bin_gains_db = std::array<float, nof_bins>;

class trace_response {
public:
    static constexpr int nof_coefficients = 32;

    trace_response();
    // Writes nof_coefficients of each.
    void design(const bin_gains_db& gains, float* re, float* im) const noexcept;

private:
    static constexpr int probes_per_bin = 5;
    void series(const bin_gains_db& gains, float* re, float* im) const noexcept;
    bin_gains_db gains_of(const float* re, const float* im) const noexcept;

    // [bin][coefficient], of the log amplitude for 1 dB; its first is real.
    std::vector<float> cepstrum_re_, cepstrum_im_;
    std::vector<float> turn_re_, turn_im_;  // [coefficient][probe]
};

}  // namespace wip::sample_model
