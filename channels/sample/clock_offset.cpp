// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sample/floor_divide.h"
#include "sample/vector_lanes.h"

namespace wip::sample_model {
namespace {

__extension__ typedef __int128 wide;
constexpr std::int64_t one = std::int64_t{1} << 32;  // a sample
constexpr std::int64_t whole = 1'000'000'000'000;    // parts

}  // namespace

clock_offset::clock_offset(const clock_offset_config& c, const stage_context&)
    : kernel_(half_width, true),
      memory_(static_cast<std::int64_t>(c.max_delay_samples >= 16 && c.max_delay_samples <= 1e6
                                            ? c.max_delay_samples
                                            : 16) +
              width),
      history_(memory_ + 2 * block) {
    check_range("clock_offset ppm", c.ppm, -100, 100);
    check_range("clock_offset max_delay_samples", c.max_delay_samples, 16, 1e6);
    check_range("clock_offset start_delay_samples", c.start_delay_samples, 0, c.max_delay_samples);
    if (c.ppm < 0 && c.start_delay_samples == 0)
        throw std::invalid_argument(
            "clock_offset ppm below 0 shortens the delay: start_delay_samples 0: valid is more "
            "than 0");
    parts_ = std::llround(c.ppm * 1e6);
    start_ = std::llround(c.start_delay_samples * static_cast<double>(one));
    limit_ = static_cast<std::int64_t>(c.max_delay_samples) * one;
    history_.restart(0);
}

std::int64_t clock_offset::delay(std::int64_t n) const noexcept {
    const wide moved = static_cast<wide>(n) * parts_ * one / whole;
    return static_cast<std::int64_t>(
        std::clamp<wide>(start_ + moved, 0, static_cast<wide>(limit_)));
}

std::int64_t clock_offset::frozen_at() const noexcept {
    if (parts_ == 0) return INT64_MAX;
    const wide room = parts_ > 0 ? limit_ - start_ : start_;
    return static_cast<std::int64_t>(room * whole / (static_cast<wide>(std::abs(parts_)) * one));
}

void clock_offset::prepare_block(std::int64_t number) noexcept {
    if (number == block_) return;
    const std::int64_t d0 = delay(number * block), d1 = delay((number + 1) * block);
    base_ = std::min(d0, d1) / one;
    const double u0 = static_cast<double>(d0 - base_ * one) * 0x1p-32;
    const double u1 = static_cast<double>(d1 - base_ * one) * 0x1p-32;
    for (int k = 0; k < width; ++k) {
        start_coefficient_[k] = kernel_(k - (half_width - 1) - u0);
        slope_[k] = (kernel_(k - (half_width - 1) - u1) - start_coefficient_[k]) * (1.0f / block);
    }
    block_ = number;
}

template <int count>
void clock_offset::filter(std::int64_t block_start, int first, float* re,
                          float* im) const noexcept {
    vec ramp[count], sum_re[count], sum_im[count];
    for (int v = 0; v < count; ++v) {
        for (int i = 0; i < lanes; ++i) ramp[v][i] = static_cast<float>((first + v) * lanes + i);
        sum_re[v] = vec{};
        sum_im[v] = vec{};
    }
    const float* x_re = history_.re(block_start + first * lanes - base_);
    const float* x_im = history_.im(block_start + first * lanes - base_);
    for (int k = 0; k < width; ++k) {
        const float a = start_coefficient_[k], b = slope_[k];
#pragma GCC unroll 8
        for (int v = 0; v < count; ++v) {
            const vec c = a + ramp[v] * b;
            vec r, i;
            std::memcpy(&r, x_re - k + v * lanes, sizeof r);
            std::memcpy(&i, x_im - k + v * lanes, sizeof i);
            sum_re[v] += c * r;
            sum_im[v] += c * i;
        }
    }
    std::memcpy(re, sum_re, sizeof sum_re);
    std::memcpy(im, sum_im, sizeof sum_im);
}

void clock_offset::work(std::int64_t first, std::span<const cf32> in,
                        std::span<cf32> out) noexcept {
    if (first != history_.end()) history_.restart(first);
    for (std::size_t done = 0; done < out.size();) {
        const std::size_t n =
            std::min<std::size_t>(out.size() - done, history_buffer::largest_append);
        history_.append(in.subspan(done, n));
        const std::int64_t end = first + static_cast<std::int64_t>(done + n);
        for (std::int64_t at = first + static_cast<std::int64_t>(done); at < end;) {
            const std::int64_t number = floor_divide(at, block);
            const std::int64_t start = number * block;
            const std::int64_t stop = std::min(end, start + block);
            prepare_block(number);
            alignas(64) float re[block], im[block];
            constexpr int group = block / lanes;
            if (stop - at == block)
                filter<group>(start, 0, re, im);
            else
                for (int v = static_cast<int>(at - start) / lanes; v * lanes < stop - start; ++v)
                    filter<1>(start, v, re + v * lanes, im + v * lanes);
            cf32* y = out.data() + (at - first);
            for (std::int64_t i = at - start; i < stop - start; ++i) *y++ = cf32(re[i], im[i]);
            at = stop;
        }
        done += n;
    }
}

}  // namespace wip::sample_model
