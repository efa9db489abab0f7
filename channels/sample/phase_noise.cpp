// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/phase_noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sample/complex_multiply.h"
#include "sample/counter_random.h"
#include "sample/fast_math.h"
#include "sample/floor_divide.h"

namespace wip::sample_model {
namespace {

constexpr std::int64_t root = std::int64_t{1} << 44;

float fast_normal(std::uint64_t counter, std::uint32_t key) noexcept {
    const random_pair p = philox(counter, key);
    const float u = (static_cast<float>(p.a) + 0.5f) * 0x1p-32f;
    return std::sqrt(std::max(-2.0f * fast_log(u), 0.0f)) * fast_sincos(p.b).cosine;
}

}  // namespace

phase_noise::phase_noise(const phase_noise_config& config, const stage_context& context)
    : key_(derive_key(context.seed, context.purpose ^ 0x50484E00u)) {
    check_range("phase_noise linewidth_hz", config.linewidth_hz, 0, 10000);
    variance_ = 2 * std::numbers::pi * config.linewidth_hz / context.sample_rate;
}

double phase_noise::normal(std::int64_t n) const noexcept {
    return fast_normal(static_cast<std::uint64_t>(n), key_);
}

double phase_noise::point(std::int64_t n) const noexcept {
    // The walk repeats itself after 2^45 samples (53 days)
    n -= floor_divide(n + root, 2 * root) * 2 * root;
    std::int64_t a = -root, b = root;
    double wa = 0, wb = std::sqrt(variance_ * 2.0 * static_cast<double>(root)) * normal(root);
    while (n != a && n != b) {
        const std::int64_t m = a + (b - a) / 2;
        const double wm =
            0.5 * (wa + wb) + std::sqrt(variance_ * static_cast<double>(b - a) * 0.25) * normal(m);
        if (n < m)
            b = m, wb = wm;
        else
            a = m, wa = wm;
    }
    return n == a ? wa : wb;
}

void phase_noise::prepare(std::int64_t number) noexcept {
    if (number == number_) return;
    const std::int64_t start = number * interval;
    constexpr double turn = 1 / (2 * std::numbers::pi);
    const double left = point(start) * turn;
    base_ = left - std::floor(left);
    turns_[0] = 0;
    turns_[knots] = static_cast<float>(point(start + interval) * turn - left);
    for (int step = knots; step > 1; step /= 2) {
        const float sigma = static_cast<float>(
            std::sqrt(variance_ * static_cast<double>(step * knot) * 0.25) * turn);
        for (int i = step / 2; i < knots; i += step) {
            const std::size_t k = static_cast<std::size_t>(i),
                              h = static_cast<std::size_t>(step / 2);
            turns_[k] = 0.5f * (turns_[k - h] + turns_[k + h]) +
                        sigma * fast_normal(static_cast<std::uint64_t>(start + i * knot), key_);
        }
    }
    number_ = number;
}

void phase_noise::work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
    for (std::size_t done = 0; done < out.size();) {
        const std::int64_t at = first + static_cast<std::int64_t>(done);
        const std::int64_t number = floor_divide(at, interval);
        prepare(number);
        const int from = static_cast<int>(at - number * interval);
        const std::size_t n = std::min(
            {multiply_block, out.size() - done, static_cast<std::size_t>(interval - from)});
        alignas(64) float re[multiply_block], im[multiply_block];
        for (std::size_t i = 0; i < n; ++i) {
            const int x = from + static_cast<int>(i);
            const std::size_t k = static_cast<std::size_t>(x / static_cast<int>(knot));
            const float f = static_cast<float>(x % static_cast<int>(knot)) * (1.0f / knot);
            const double t =
                base_ + static_cast<double>(turns_[k] + f * (turns_[k + 1] - turns_[k]));
            const sine_cosine w =
                fast_sincos(static_cast<std::uint32_t>(static_cast<std::int64_t>(t * 0x1p32)));
            re[i] = w.cosine;
            im[i] = w.sine;
        }
        multiply(in.data() + done, re, im, out.data() + done, n);
        done += n;
    }
}

}  // namespace wip::sample_model
