// SPDX-License-Identifier: GPL-3.0-or-later
// A delay that changes slowly, by interpolation: coefficients at the ends of every block of 64
// outputs (fractional_delay.h, M = 8, error below -80 dB inside the band), on a straight line
// between. At 100 ppm the delay moves 0.0064 samples in a block: error of the line below -90 dB.
// Latency: 7 samples. Delays are in units of 2^-32 samples; a negative delay reads later samples.
#pragma once

#include <algorithm>
#include <cstring>

#include "sample/floor_divide.h"
#include "sample/fractional_delay.h"
#include "sample/history_buffer.h"
#include "types/lanes.h"

namespace wip::sample_model {

class moving_delay {
public:
    static constexpr int half_width = 8, block = 64, width = 2 * half_width + 2;
    static constexpr std::int64_t latency = half_width - 1;
    static constexpr std::int64_t one = std::int64_t{1} << 32;  // the delay of one sample

    moving_delay() : kernel_(half_width, true) {}

    // Whole samples of delay of coefficient 0 in a block: its output n reads inputs n - base -
    // width
    // + 1 to n - base.
    static constexpr std::int64_t base(std::int64_t d0, std::int64_t d1) noexcept {
        return floor_divide(std::min(d0, d1), one);
    }
    // Delays at the beginning of block `number` and of the next.
    template <class Delay>
    void prepare(std::int64_t number, Delay delay) noexcept {
        if (number == block_) return;
        const std::int64_t d0 = delay(number * block), d1 = delay((number + 1) * block);
        base_ = base(d0, d1);
        const double u0 = static_cast<double>(d0 - base_ * one) * 0x1p-32;
        const double u1 = static_cast<double>(d1 - base_ * one) * 0x1p-32;
        for (int k = 0; k < width; ++k) {
            start_[k] = kernel_(k - (half_width - 1) - u0);
            slope_[k] = (kernel_(k - (half_width - 1) - u1) - start_[k]) * (1.0f / block);
        }
        block_ = number;
    }
    // `count` vectors of the block, from vector `first` on.
    template <int count>
    void filter(const history_buffer& history, std::int64_t block_start, int first, float* re,
                float* im) const noexcept {
        lanes ramp[count], sum_re[count], sum_im[count];
        for (int v = 0; v < count; ++v) {
            for (int i = 0; i < nof_lanes; ++i)
                ramp[v][i] = static_cast<float>((first + v) * nof_lanes + i);
            sum_re[v] = lanes{};
            sum_im[v] = lanes{};
        }
        const float* x_re = history.re(block_start + first * nof_lanes - base_);
        const float* x_im = history.im(block_start + first * nof_lanes - base_);
        for (int k = 0; k < width; ++k) {
            const float a = start_[k], b = slope_[k];
#pragma GCC unroll 8
            for (int v = 0; v < count; ++v) {
                const lanes c = a + ramp[v] * b;
                lanes r, i;
                std::memcpy(&r, x_re - k + v * nof_lanes, sizeof r);
                std::memcpy(&i, x_im - k + v * nof_lanes, sizeof i);
                sum_re[v] += c * r;
                sum_im[v] += c * i;
            }
        }
        std::memcpy(re, sum_re, sizeof sum_re);
        std::memcpy(im, sum_im, sizeof sum_im);
    }

private:
    delay_kernel kernel_;
    std::int64_t block_ = INT64_MIN, base_ = 0;
    float start_[width], slope_[width];
};

}  // namespace wip::sample_model
