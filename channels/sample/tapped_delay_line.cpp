// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tapped_delay_line.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sample/block_filter.h"
#include "sample/fractional_delay.h"

namespace wip::sample_model {
namespace {

int coefficients_of(const delay_profile& profile, double sample_rate, int half_width) {
    check_profile(profile);
    double last = 0;
    for (const profile_tap& t : profile.taps) last = std::max(last, t.delay_s * sample_rate);
    return static_cast<int>(std::ceil(last)) + 2 * half_width - 1;
}

}  // namespace

tapped_delay_line::tapped_delay_line(const delay_profile& profile, double doppler_hz,
                                     const stage_context& context)
    : tapped_delay_line(profile, motion({.path = constant_speed{doppler_hz}}, context.sample_rate),
                        context) {}

tapped_delay_line::tapped_delay_line(const delay_profile& profile, const motion& movement,
                                     const stage_context& context)
    : sample_rate_(context.sample_rate),
      taps_(profile, movement, context),
      nof_coefficients_(coefficients_of(profile, context.sample_rate, half_width)),
      history_(nof_coefficients_ + 2 * block) {
    // Coefficients may stand still for 16 samples as long as that errs by less than -60 dB.
    steps_ = 2 * std::numbers::pi * movement.largest_doppler_hz() * step / sample_rate_ /
                 std::sqrt(24.0) <
             1e-3;
    padded_ = (nof_coefficients_ + 15) / 16 * 16;
    const std::size_t width = static_cast<std::size_t>(padded_);
    for (std::vector<float>* v :
         {&start_re_, &start_im_, &end_re_, &end_im_, &slope_re_, &slope_im_})
        v->resize(width);
    for (std::vector<float>* v : {&stepped_re_, &stepped_im_}) v->resize(width * block / step);

    const delay_kernel kernel(half_width, false);
    rows_.resize(taps_.size() * width);
    std::vector<bool> used(width);
    for (std::size_t p = 0; p < taps_.size(); ++p)
        for (int j = 0; j < nof_coefficients_; ++j) {
            const double g =
                kernel.exact(j - (half_width - 1) - taps_.delay_s(p) * context.sample_rate);
            rows_[p * width + static_cast<std::size_t>(j)] = static_cast<float>(g);
            if (std::abs(g) > 1e-9) used[static_cast<std::size_t>(j)] = true;
        }
    for (int j = 0; j < nof_coefficients_; ++j)
        if (used[static_cast<std::size_t>(j)]) used_.push_back(j);
    history_.restart(0);
}

std::complex<double> tapped_delay_line::response(std::int64_t index, double hz) const {
    std::vector<cf32> g(taps_.size());
    taps_.at(index, g);
    std::complex<double> h;
    for (std::size_t p = 0; p < taps_.size(); ++p)
        h += std::complex<double>(g[p]) *
             std::polar(1.0, -2 * std::numbers::pi * hz * taps_.delay_s(p));
    return h;
}

void tapped_delay_line::coefficients(std::int64_t index, float* re, float* im) noexcept {
    alignas(64) float ar[max_profile_taps], ai[max_profile_taps];
    taps_.at(index, ar, ai);
    for (int k = 0; k < padded_; k += nof_lanes) {
        lanes sum_re{}, sum_im{};
        const float* row = rows_.data() + k;
        for (std::size_t p = 0; p < taps_.size(); ++p, row += padded_) {
            lanes r;
            std::memcpy(&r, row, sizeof r);
            sum_re += ar[p] * r;
            sum_im += ai[p] * r;
        }
        std::memcpy(re + k, &sum_re, sizeof sum_re);
        std::memcpy(im + k, &sum_im, sizeof sum_im);
    }
}

// Coefficients at the start of block `number` and their slopes per sample.
void tapped_delay_line::prepare_block(std::int64_t number) noexcept {
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

// `count` vectors of the block, from vector `first` on.
template <int count>
void tapped_delay_line::filter(std::int64_t block_start, int first, float* re,
                               float* im) const noexcept {
    lanes ramp[count], sum_re[count], sum_im[count];
    for (int v = 0; v < count; ++v) {
        for (int i = 0; i < nof_lanes; ++i)
            ramp[v][i] = static_cast<float>((first + v) * nof_lanes + i);
        sum_re[v] = lanes{};
        sum_im[v] = lanes{};
    }
    const float* x_re = history_.re(block_start + first * nof_lanes);
    const float* x_im = history_.im(block_start + first * nof_lanes);
    for (const int k : used_) {
        const std::size_t j = static_cast<std::size_t>(k);
        const float ar = start_re_[j], ai = start_im_[j], br = slope_re_[j], bi = slope_im_[j];
#pragma GCC unroll 8
        for (int v = 0; v < count; ++v) {
            const lanes cr = ar + ramp[v] * br, ci = ai + ramp[v] * bi;
            lanes r, i;
            std::memcpy(&r, x_re - k + v * nof_lanes, sizeof r);
            std::memcpy(&i, x_im - k + v * nof_lanes, sizeof i);
            sum_re[v] += cr * r;
            sum_re[v] -= ci * i;
            sum_im[v] += cr * i;
            sum_im[v] += ci * r;
        }
    }
    std::memcpy(re, sum_re, sizeof sum_re);
    std::memcpy(im, sum_im, sizeof sum_im);
}

// The same with coefficients that stand still for 16 samples: four multiplications instead of six.
template <int count>
void tapped_delay_line::filter_stepped(std::int64_t block_start, int first, float* re,
                                       float* im) const noexcept {
    lanes sum_re[count], sum_im[count];
    for (int v = 0; v < count; ++v) sum_re[v] = sum_im[v] = lanes{};
    const float* x_re = history_.re(block_start + first * nof_lanes);
    const float* x_im = history_.im(block_start + first * nof_lanes);
    const float* c_re = stepped_re_.data();
    const float* c_im = stepped_im_.data();
    for (const int k : used_) {
#pragma GCC unroll 16
        for (int v = 0; v < count; ++v) {
            const int set = (first + v) * nof_lanes / step * padded_;
            const float cr = c_re[set + k], ci = c_im[set + k];
            lanes r, i;
            std::memcpy(&r, x_re - k + v * nof_lanes, sizeof r);
            std::memcpy(&i, x_im - k + v * nof_lanes, sizeof i);
            sum_re[v] += cr * r;
            sum_re[v] -= ci * i;
            sum_im[v] += cr * i;
            sum_im[v] += ci * r;
        }
    }
    std::memcpy(re, sum_re, sizeof sum_re);
    std::memcpy(im, sum_im, sizeof sum_im);
}

void tapped_delay_line::work(std::int64_t first, std::span<const cf32> in,
                             std::span<cf32> out) noexcept {
    filter_blocks<block>(
        history_, first, in, out, [this](std::int64_t number) { prepare_block(number); },
        [this](auto count, std::int64_t start, int v, float* re, float* im) {
            steps_ ? filter_stepped<count()>(start, v, re, im) : filter<count()>(start, v, re, im);
        });
}

}  // namespace wip::sample_model
