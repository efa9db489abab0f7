// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/sync/direct_conversion.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace wip::phy {

namespace {

using cf64 = std::complex<double>;

constexpr double forgetting = 1 - 1.0 / 1024;  // blocks
constexpr double symbols = 500 * 6;            // elements of a block
constexpr double pairs = symbols / 2;          // pairs of mirrored points
constexpr double least_power = 1e-14;          // -140 dBFS: nothing there
constexpr double nearly_real = 0.5;            // |E[y^2]| / E|y|^2
constexpr double image_from = 32;              // blocks
constexpr int recent = 16;                     // blocks in which a jump shows
constexpr double jump = 1e-3;                  // share of the power

// Shrinks an estimate whose error has that variance.
double shrunk(cf64 estimate, double variance) {
    const double power = std::norm(estimate);
    return power > variance ? 1 - variance / power : 0;
}

struct matrix {
    float re_re, im_im, cross;
    cf32 offset;
};

// Samples that are read twice while they are near; whole groups.
constexpr std::int64_t in_cache = 1024;

// Samples for each call of a function that is not inlined, so that each sample goes through the
// same instructions at any place.
constexpr std::int64_t group = 64;
[[gnu::noinline]] void transform(const matrix& m, const float* x, float* z) noexcept {
    for (int i = 0; i < group; ++i) {
        const float re = x[2 * i], im = x[2 * i + 1];
        z[2 * i] = m.re_re * re + m.cross * im + m.offset.real();
        z[2 * i + 1] = m.cross * re + m.im_im * im + m.offset.imag();
    }
}

}  // namespace

void direct_conversion::process(std::int64_t first, const cf32* in, std::int64_t count, float scale,
                                cf32* out) noexcept {
    if (first != next_) complete_ = false;
    next_ = first + count;
    while (count > 0) {
        const std::int64_t at = (first % slot_samples + slot_samples) % slot_samples;
        const std::int64_t n = std::min({count, slot_samples - at, in_cache});
        if (at == 0) {
            complete_ = true;
            sums_ = {};
            nof_partial_ = 0;
        }
        if (complete_) add(in, n);
        apply(in, n, scale, out);
        if (at + n == slot_samples && complete_) learn(scale);
        first += n;
        in += n;
        out += n;
        count -= n;
    }
}

void direct_conversion::gain_stepped() noexcept {
    complete_ = false;
    weighted_means_ = 0;
    mean_weight_ = 0;
    recent_blocks_ = 0;
}

// scale (u - w conj(u)) with u = in - d, as a real 2 x 2 matrix and an offset.
void direct_conversion::apply(const cf32* in, std::int64_t count, float scale,
                              cf32* out) const noexcept {
    if (!on_ || (dc_ == cf64() && image_ == cf64())) {
        if (scale == 1)
            std::memcpy(static_cast<void*>(out), in,
                        static_cast<std::size_t>(count) * sizeof(cf32));
        else
            for (std::int64_t i = 0; i < count; ++i) out[i] = scale * in[i];
        return;
    }
    const cf32 w(image_), d(dc_), offset = -scale * (d - w * std::conj(d));
    const matrix m{scale * (1 - w.real()), scale * (1 + w.real()), -scale * w.imag(), offset};
    const auto* x = reinterpret_cast<const float*>(in);
    auto* z = reinterpret_cast<float*>(out);
    for (; count >= group; count -= group, x += 2 * group, z += 2 * group) transform(m, x, z);
    if (count == 0) return;
    std::array<float, 2 * group> rest{}, done;
    const auto left = static_cast<std::size_t>(2 * count);
    std::copy_n(x, left, rest.data());
    transform(m, rest.data(), done.data());
    std::copy_n(done.data(), left, z);
}

[[gnu::noinline]] void direct_conversion::add_rows(const cf32* in, std::int64_t count) noexcept {
    sums s = sums_;
    const auto* x = reinterpret_cast<const float*>(in);
    for (std::int64_t n = 0; n < count; ++n, x += 2 * row_length)
        for (int l = 0; l < row_length; ++l) {
            const float a = x[2 * l], b = x[2 * l + 1];
            const auto ul = static_cast<std::size_t>(l);
            s.re[ul] += a;
            s.im[ul] += b;
            s.rr[ul] += a * a;
            s.ii[ul] += b * b;
            s.ri[ul] += a * b;
        }
    sums_ = s;
}

void direct_conversion::add(const cf32* in, std::int64_t count) noexcept {
    static_assert(slot_samples % row_length == 0 && in_cache % group == 0);
    while (count > 0) {
        if (nof_partial_ == 0 && count >= row_length) {
            const std::int64_t rows = count / row_length;
            add_rows(in, rows);
            in += rows * row_length;
            count -= rows * row_length;
            continue;
        }
        const auto n = static_cast<int>(std::min<std::int64_t>(count, row_length - nof_partial_));
        std::copy_n(in, n, partial_row_.begin() + nof_partial_);
        in += n;
        count -= n;
        nof_partial_ += n;
        if (nof_partial_ < row_length) continue;
        add_rows(partial_row_.data(), 1);
        nof_partial_ = 0;
    }
}

void direct_conversion::learn(float scale) noexcept {
    const auto& [re, im, rr, ii, ri] = sums_;
    const auto mean = [](const row& v) {
        double sum = 0;
        for (const float one : v) sum += static_cast<double>(one);
        return sum / slot_samples;
    };
    const cf64 m(mean(re), mean(im));
    const double power = mean(rr) + mean(ii) - std::norm(m);
    if (!(power > least_power) || !std::isfinite(power)) return;
    learn_dc(m, power);
    const double s = static_cast<double>(scale) * static_cast<double>(scale);
    learn_image(s * (cf64(mean(rr) - mean(ii), 2 * mean(ri)) - m * m), s * power);
}

void direct_conversion::learn_dc(cf64 mean, double power) noexcept {
    weighted_means_ = forgetting * weighted_means_ + mean / power;
    mean_weight_ = forgetting * mean_weight_ + 1 / power;
    if (recent_blocks_ == 0) {
        recent_ = 0;
        recent_power_ = 0;
    }
    recent_ += mean / double{recent};
    recent_power_ += power / recent;
    if (++recent_blocks_ == recent) {
        recent_blocks_ = 0;
        if (std::norm(recent_ - weighted_means_ / mean_weight_) > jump * recent_power_) {
            mean_weight_ = recent / recent_power_;
            weighted_means_ = recent_ * mean_weight_;
        }
    }
    const cf64 estimate = weighted_means_ / mean_weight_;
    dc_ = estimate * shrunk(estimate, 1 / (symbols * mean_weight_));
}

void direct_conversion::learn_image(cf64 square, double power) noexcept {
    if (std::abs(square) > nearly_real * power) return;
    squares_ = forgetting * squares_ + square;
    power_ = forgetting * power_ + power;
    power_squares_ = forgetting * forgetting * power_squares_ + power * power;
    const double blocks = power_ * power_ / power_squares_;
    const cf64 ratio = squares_ / power_;
    const double whole = 1 + std::sqrt(std::max(1 - std::norm(ratio), 0.0));
    image_ = blocks < image_from ? cf64() : ratio / whole * shrunk(ratio, 1 / (pairs * blocks));
}

}  // namespace wip::phy
