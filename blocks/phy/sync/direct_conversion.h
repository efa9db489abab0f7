// SPDX-License-Identifier: GPL-3.0-or-later
// Removes the errors of a direct-conversion receiver from its samples before anything else touches
// them: y = x + b conj(x) + d, with the DC offset d and the image b.
//
// This is done before the FFT, because after it the correction of the frequency offset has moved
// the DC offset onto a subcarrier (9 kHz: 0.1 beside subcarrier -1), and an image about the radio's
// frequency is not one about the carrier's.
//
// Both are learned from all samples, signal or not, over blocks of 5120 samples.
//
// DC is the mean over blocks, with forgetting over 1024 blocks (0.7 s). So narrow a notch (0.2 Hz)
// lets subcarrier -1 pass. Its symbols, each with 1 / 500 of the power P, six in a block, leave P
// / (3000 n) in the mean of n blocks, 38 dB below that subcarrier at n = 1024. So each block has
// the weight 1 / P; with W the sum of the weights the error is 1 / (3000 W). Only the share 1 - 1
// / (3000 W |mean|^2) of the mean is subtracted, and nothing if this is negative. If the offset
// jumps (a board that calibrates itself), the mean of 16 blocks shows it: symbols come to -47 dB
// of P there, and above -30 dB the mean starts again from those blocks. A gain step starts it
// anew.
//
// Image: signal and noise are circular, E[x^2] = 0, so that c = E[y^2] and p = E|y|^2 tell
// b = c / (p + sqrt(p^2 - |c|^2)), and z = y - b conj(y) is circular. The products of mirrored
// subcarriers spread |c| / p by sqrt(1 / (1500 n)): the image that this makes is 38 + 10 log n dB
// below the signal, 68 at n = 1024; n is the effective number of blocks, weighted by power. Used
// From n = 32 on (53 dB) b is used, reduced in the same way. A block that is nearly real (|c| > p /
// 2) does not come from such a signal and does not count. An image of the transmitter turns at
// twice the frequency offset and averages out. With an offset below 1 Hz it does not: it is then
// removed as well, or added again if the channel has changed since.
//
// Which samples are in a block follows from their index: nothing depends on how the samples were
// cut into calls.
#pragma once

#include <array>
#include <complex>
#include <cstdint>

#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;

class direct_conversion {
public:
    // out = scale times the corrected samples; `first` is the index of in[0]. A jump in `first` and
    // a change of `scale` (to samples that the radio's gain made stronger or weaker) are allowed.
    void process(std::int64_t first, const cf32* in, std::int64_t count, float scale,
                 cf32* out) noexcept;

    // Call when the gain has changed: the present block is not used, and from its end on the DC
    // offset is another one.
    void gain_stepped() noexcept;

    // False: DC offset and image are not removed, but still learned.
    void correct(bool on) noexcept { on_ = on; }

    cf32 dc() const noexcept { return cf32(dc_); }  // at the scale of `in`
    cf32 image() const noexcept { return cf32(image_); }

private:
    void apply(const cf32* in, std::int64_t count, float scale, cf32* out) const noexcept;
    void add(const cf32* in, std::int64_t count) noexcept;
    void learn(float scale) noexcept;
    void learn_dc(std::complex<double> mean, double power) noexcept;
    void learn_image(std::complex<double> square, double power) noexcept;

    // Sums of the present block, by the samples' place in rows of so many.
    static constexpr int row_length = 16;
    using row = std::array<float, row_length>;
    struct sums {
        row re, im, rr, ii, ri;
    };
    void add_rows(const cf32* in, std::int64_t count) noexcept;
    sums sums_{};
    std::array<cf32, row_length> partial_row_{};  // the row that is not whole yet
    int nof_partial_ = 0;

    std::int64_t next_ = INT64_MIN;
    bool complete_ = false;  // nothing of the present block is missing
    bool on_ = true;

    std::complex<double> weighted_means_{};  // sum of mean / power over blocks, with forgetting
    double mean_weight_ = 0;                 // sum of 1 / power
    int recent_blocks_ = 0;
    std::complex<double> recent_{};
    double recent_power_ = 0;

    std::complex<double> squares_{};
    double power_ = 0, power_squares_ = 0;

    std::complex<double> dc_{}, image_{};
};

}  // namespace wip::phy
