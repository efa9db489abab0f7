// SPDX-License-Identifier: GPL-3.0-or-later
// Delays that are no whole number of samples: a sinc under a Kaiser window,
// k(u) = sin(pi u)/(pi u) I0(beta sqrt(1 - (u/M)^2))/I0(beta), |u| < M. The delayed signal is
// y[n] = sum_j k(j - tau) x[n - j].
// The signal occupies +-250 of 768 subcarriers, |f| <= 0.3255 cycles/sample, so the filter may fall
// from there to the image at 1 - 0.3255: with transition half width 0.1745 Kaiser's formula gives
// 2 M = (A - 8)/(4 pi 0.1745 2.285) + 1. M = 7: A = 73 dB, M = 8: 83 dB.
// Whole delays are exact: the sinc is zero at every other integer.
#pragma once

#include <vector>

namespace wip::sample_model {

class delay_kernel {
public:
    // A table makes calls cheap and construction slow (10 ms).
    explicit delay_kernel(int half_width, bool with_table);
    int half_width() const noexcept { return half_width_; }
    double exact(double u) const;
    // The same from a table of 1024 points per sample with linear interpolation, within 5e-7 of
    // exact(u).
    float operator()(double u) const noexcept {
        const double x = (u + half_width_) * resolution;
        if (!(x > 0) || !(x < size_)) return 0;
        const int i = static_cast<int>(x);
        const float f = static_cast<float>(x - i);
        return table_[static_cast<std::size_t>(i)] * (1 - f) +
               table_[static_cast<std::size_t>(i) + 1] * f;
    }

private:
    static constexpr int resolution = 1024;
    int half_width_;
    double beta_, scale_, size_;
    std::vector<float> table_;
};

}  // namespace wip::sample_model
