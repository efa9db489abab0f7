// SPDX-License-Identifier: GPL-3.0-or-later
// An FIR filter with changing coefficients: they are given every 64 samples and interpolated
// linearly. Between, they change every 16 samples (`steps`), or every sample where that is too
// coarse.
//
// Vectors of the inner loop lie at multiples of their size of the absolute index: the size of the
// calls does not change a bit. Everything is in this header, because the code that uses it is
// compiled with the flags of such loops (channels/sample/CMakeLists.txt).
#pragma once

#include <cstring>
#include <vector>

#include "sample/block_filter.h"

namespace wip::sample_model {

class moving_fir {
public:
    static constexpr int block = 64;  // samples between coefficient sets
    static constexpr int step = 16;   // samples that share coefficients

    moving_fir(int nof_coefficients, bool steps)
        : steps_(steps),
          nof_coefficients_(nof_coefficients),
          padded_(padded_size(nof_coefficients)),
          history_(nof_coefficients + 2 * block) {
        const std::size_t width = static_cast<std::size_t>(padded_);
        for (std::vector<float>* v :
             {&start_re_, &start_im_, &end_re_, &end_im_, &slope_re_, &slope_im_})
            v->resize(width);
        for (std::vector<float>* v : {&stepped_re_, &stepped_im_}) v->resize(width * block / step);
        use(std::vector<bool>(width, true));
        history_.restart(0);
    }
    // Declares which coefficients may be other than zero.
    void use(const std::vector<bool>& used) {
        used_.clear();
        for (int j = 0; j < nof_coefficients_; ++j)
            if (used[static_cast<std::size_t>(j)]) used_.push_back(j);
    }
    std::int64_t memory() const noexcept { return nof_coefficients_ - 1; }
    // The number of floats that hold a set of coefficients.
    static constexpr int padded_size(int nof_coefficients) {
        return (nof_coefficients + 15) / 16 * 16;
    }
    int padded() const noexcept { return padded_; }

    // coefficients(index, re, im) writes padded() of each, for an index that is a multiple of 64.
    template <class Coefficients>
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out,
              Coefficients coefficients) noexcept {
        filter_blocks<block>(
            history_, first, in, out,
            [&](std::int64_t number) { prepare_block(number, coefficients); },
            [this](auto count, std::int64_t start, int v, float* re, float* im) {
                this->template filter<count()>(start, v, re, im);
            });
    }

private:
    // Coefficients at the start of block `number` and their slopes per sample.
    template <class Coefficients>
    void prepare_block(std::int64_t number, Coefficients& coefficients) noexcept {
        if (number == block_) return;
        if (number - 1 == block_ && block_ != INT64_MIN) {
            start_re_.swap(end_re_);
            start_im_.swap(end_im_);
        } else {
            coefficients(number * block, start_re_.data(), start_im_.data());
        }
        coefficients((number + 1) * block, end_re_.data(), end_im_.data());
        for (std::size_t k = 0; k < start_re_.size(); ++k) {
            slope_re_[k] = (end_re_[k] - start_re_[k]) * (1.0f / block);
            slope_im_[k] = (end_im_[k] - start_im_[k]) * (1.0f / block);
        }
        if (steps_) {
            for (int v = 0; v < block / step; ++v) {
                const float t = static_cast<float>(v * step) + 0.5f * (step - 1);
                float* re = stepped_re_.data() + v * padded_;
                float* im = stepped_im_.data() + v * padded_;
                for (std::size_t k = 0; k < start_re_.size(); ++k) {
                    re[k] = start_re_[k] + t * slope_re_[k];
                    im[k] = start_im_[k] + t * slope_im_[k];
                }
            }
        }
        block_ = number;
    }

    template <class Number>
    struct pair {
        Number re, im;
    };
    // `count` vectors of the block, from vector `first` on. coefficient(k)(v): re and im of
    // coefficient k for vector v of these, a number or one for each lane.
    template <int count, class Coefficient>
    void sum_up(std::int64_t block_start, int first, float* re, float* im,
                Coefficient coefficient) const noexcept {
        lanes sum_re[count], sum_im[count];
        for (int v = 0; v < count; ++v) sum_re[v] = sum_im[v] = lanes{};
        const float* x_re = history_.re(block_start + first * nof_lanes);
        const float* x_im = history_.im(block_start + first * nof_lanes);
        for (const int k : used_) {
            const auto of_vector = coefficient(k);
#pragma GCC unroll 16
            for (int v = 0; v < count; ++v) {
                const auto c = of_vector(v);
                lanes r, i;
                std::memcpy(&r, x_re - k + v * nof_lanes, sizeof r);
                std::memcpy(&i, x_im - k + v * nof_lanes, sizeof i);
                sum_re[v] += c.re * r;
                sum_re[v] -= c.im * i;
                sum_im[v] += c.re * i;
                sum_im[v] += c.im * r;
            }
        }
        std::memcpy(re, sum_re, sizeof sum_re);
        std::memcpy(im, sum_im, sizeof sum_im);
    }

    template <int count>
    void filter(std::int64_t block_start, int first, float* re, float* im) const noexcept {
        // Coefficients that are constant for 16 samples: four multiplications instead of six.
        if (steps_)
            return sum_up<count>(
                block_start, first, re, im,
                [this, first, c_re = stepped_re_.data(), c_im = stepped_im_.data()](int k) {
                    return [=, this](int v) {
                        const int set = (first + v) * nof_lanes / step * padded_;
                        return pair<float>{c_re[set + k], c_im[set + k]};
                    };
                });
        lanes ramp[count];
        for (int v = 0; v < count; ++v)
            for (int i = 0; i < nof_lanes; ++i)
                ramp[v][i] = static_cast<float>((first + v) * nof_lanes + i);
        sum_up<count>(block_start, first, re, im, [&](int k) {
            const std::size_t j = static_cast<std::size_t>(k);
            return [&ramp, ar = start_re_[j], ai = start_im_[j], br = slope_re_[j],
                    bi = slope_im_[j]](int v) {
                return pair<lanes>{ar + ramp[v] * br, ai + ramp[v] * bi};
            };
        });
    }

    bool steps_;
    int nof_coefficients_, padded_;
    std::vector<int> used_;  // coefficients that are not zero all the time
    std::vector<float> start_re_, start_im_, end_re_, end_im_, slope_re_, slope_im_;
    std::vector<float> stepped_re_, stepped_im_;
    std::int64_t block_ = INT64_MIN;
    history_buffer history_;
};

}  // namespace wip::sample_model
