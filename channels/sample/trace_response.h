// SPDX-License-Identifier: GPL-3.0-or-later
// A filter with given gains of 25 bins: 32 coefficients, minimum phase, so that its impulse
// response is as short as those gains allow and begins with its first sample (the cyclic prefix has
// 85 samples).
//
//   log amplitude over frequency   cubic through the middles of the bins (Catmull-Rom); outside the
//                                  band on a cosine from the highest bin back to the lowest
//   its cepstrum                   linear in the 25 gains in dB: a table computed once
//   the coefficients               the series of exp(cepstrum), h[n] = 1/n sum_k k c[k] h[n-k]: it
//                                  needs no transform, and is exact for any length of the filter
//   a second pass                  with the gains corrected by the error of the power of each bin
//                                  (mean over five of its subcarriers), since the mean of a curve
//                                  differs from its middle
//
// Error for the channel `jakes` at 16 dB: 0.08 dB rms over the bins (0.3 without the second pass).
// If all neighbouring bins differ by 12 dB, 32 coefficients do not suffice
// (tests/unit/channels/test_trace_filter.cpp).
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
    // Writes nof_coefficients values to re and to im.
    void design(const bin_gains_db& gains, float* re, float* im) const noexcept;

private:
    static constexpr int probes_per_bin = 5;
    void series(const bin_gains_db& gains, float* re, float* im) const noexcept;
    bin_gains_db gains_of(const float* re, const float* im) const noexcept;

    // [bin][coefficient]: cepstrum for a gain of 1 dB in one bin; the first coefficient is real.
    std::vector<float> cepstrum_re_, cepstrum_im_;
    std::vector<float> phasor_re_, phasor_im_;  // [coefficient][probe]: phasors of the Fourier
                                                // transform at the subcarriers of gains_of()
};

}  // namespace wip::sample_model
