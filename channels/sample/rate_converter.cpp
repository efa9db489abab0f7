// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/rate_converter.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "sample/floor_divide.h"
#include "types/lanes.h"

namespace wip::sample_model {
namespace {

__extension__ typedef __int128 wide;
constexpr std::int64_t whole_parts = 1'000'000'000'000;  // exact_rate::parts are of 10^12
constexpr double band = 0.3255, attenuation_db = 90;     // rate_converter.h

wide common_divisor(wide a, wide b) {
    while (b != 0) std::swap(a, b), b %= a;
    return a;
}

wide floor_of(wide a, wide b) { return a / b - (a % b < 0); }  // b > 0

// Half the length of the filter, so that its taps are whole vectors. Kaiser's formula.
int half_length(double in, double out) {
    const double lower = std::min(1.0, out / in);
    const double transition = 2 * std::numbers::pi * (1 - 2 * band) * lower;
    const double taps = (attenuation_db - 8) / (2.285 * transition) + 1;
    return static_cast<int>(std::ceil(taps / nof_lanes)) * nof_lanes / 2;
}

}  // namespace

rate_map::rate_map(const exact_rate& in, const exact_rate& out) {
    for (const exact_rate& r : {in, out})
        if (r.clock <= 0 || r.divider <= 0 || r.parts <= -whole_parts / 2)
            throw std::invalid_argument(
                "the input or output sample rate of the converter is " + std::to_string(r.clock) +
                " Hz / " + std::to_string(r.divider) + " with an offset of " +
                std::to_string(r.parts) +
                "e-12; valid: clock and divider more than 0, the offset more than -0.5");
    numerator_ = static_cast<wide>(in.clock) * out.divider;
    denominator_ = static_cast<wide>(out.clock) * in.divider;
    const auto shorten = [this] {
        const wide d = common_divisor(numerator_, denominator_);
        numerator_ /= d;
        denominator_ /= d;
    };
    shorten();
    if (in.parts != out.parts) {
        const std::int64_t a = whole_parts + in.parts, b = whole_parts + out.parts;
        const std::int64_t d = std::gcd(a, b);
        numerator_ *= a / d;
        denominator_ *= b / d;
        shorten();
    }
}

rate_map::position rate_map::of(std::int64_t output) const noexcept {
    position p = at(output);
    const std::uint64_t sum = p.fraction + shift_.fraction;
    p.whole += shift_.whole + (sum < p.fraction);
    p.fraction = sum;
    return p;
}

rate_map::position rate_map::at(std::int64_t output) const noexcept {
    const wide product = output * numerator_;
    const wide whole = floor_of(product, denominator_);
    wide rest = product - whole * denominator_;
    // The fraction is computed 32 bits at a time, since the denominator may have up to 90 bits.
    std::uint64_t fraction = 0;
    for (int i = 0; i < 2; ++i) {
        rest <<= 32;
        fraction = fraction << 32 | static_cast<std::uint64_t>(rest / denominator_);
        rest %= denominator_;
    }
    return {static_cast<std::int64_t>(whole), fraction};
}

std::int64_t rate_map::at_or_after(std::int64_t input) const noexcept {
    const wide from = wide{input} - shift_.whole;
    auto first = static_cast<std::int64_t>(-floor_of(-from * denominator_, numerator_));
    // The fraction of the shift is less than one input.
    while (shift_.fraction != 0 && of(first - 1).whole >= input) --first;
    return first;
}

double rate_map::step() const noexcept {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
}

rate_converter::rate_converter(const exact_rate& in, const exact_rate& out)
    : map_(in, out),
      half_(half_length(in.hz(), out.hz())),
      taps_(2 * half_),
      coefficients_(static_cast<std::size_t>(taps_ * (nof_positions + 1))),
      history_(keep + taps_ + 16) {
    const double lower = std::min(1.0, out.hz() / in.hz());
    const double beta = 0.1102 * (attenuation_db - 8.7);
    const auto kernel = [&](double u) {
        const double x = u / half_;
        if (std::abs(x) >= 1) return 0.0;
        const double window = std::cyl_bessel_i(0, beta * std::sqrt(1 - x * x));
        const double t = std::numbers::pi * lower * u;
        const double sinc = u == 0 ? 1 : lower == 1 && u == std::round(u) ? 0 : std::sin(t) / t;
        return lower * sinc * window / std::cyl_bessel_i(0, beta);
    };
    for (int position_index = 0; position_index <= nof_positions; ++position_index)
        for (int k = 0; k < taps_; ++k)
            coefficients_[static_cast<std::size_t>(taps_ * position_index + k)] =
                static_cast<float>(
                    kernel(k - (half_ - 1) - static_cast<double>(position_index) / nof_positions));
    const auto one = map_.of(1);
    step_whole_ = one.whole;
    step_fraction_ = one.fraction;
}

void rate_converter::feed(std::span<const cf32> in) noexcept {
    while (!in.empty()) {
        const auto part =
            in.first(std::min<std::size_t>(in.size(), history_buffer::largest_append));
        history_.append(part);
        in = in.subspan(part.size());
    }
}

// Always inlined, since otherwise the compiler passes each output through memory.
[[gnu::always_inline]] inline void rate_converter::interpolate(std::int64_t whole,
                                                               std::uint64_t fraction,
                                                               cf32& out) const noexcept {
    const std::uint64_t position_index = fraction >> 56;
    const float rest = static_cast<float>(fraction << 8 >> 40) * 0x1p-24f;
    const float* a = coefficients_.data() + static_cast<std::size_t>(taps_) * position_index;
    const float* b = a + taps_;  // taps of the next position; the table fits into the L1 cache
    const float* x_re = history_.re(whole - half_ + 1);
    const float* x_im = history_.im(whole - half_ + 1);
    lanes re{}, im{};
    for (int k = 0; k < taps_; k += nof_lanes) {
        lanes c, d, r, i;
        std::memcpy(&c, a + k, sizeof c);
        std::memcpy(&d, b + k, sizeof d);
        std::memcpy(&r, x_re + k, sizeof r);
        std::memcpy(&i, x_im + k, sizeof i);
        c += rest * (d - c);
        re += c * r;
        im += c * i;
    }
    out = {sum_of(re), sum_of(im)};
}

void rate_converter::work(std::int64_t first, std::span<cf32> out) const noexcept {
    const std::int64_t end = first + static_cast<std::int64_t>(out.size());
    for (std::int64_t n = first; n < end;) {
        // The position is exact at every multiple of `block` in the absolute index, with steps
        // rounded to 2^-64 between.
        const std::int64_t start = floor_divide(n, block) * block;
        const std::int64_t stop = std::min(end, start + block);
        auto [whole, fraction] = map_.of(start);
        for (std::int64_t i = start; i < stop; ++i) {
            if (i >= n) interpolate(whole, fraction, out[static_cast<std::size_t>(i - first)]);
            whole += step_whole_;
            const std::uint64_t sum = fraction + step_fraction_;
            whole += sum < fraction;
            fraction = sum;
        }
        n = stop;
    }
}

}  // namespace wip::sample_model
