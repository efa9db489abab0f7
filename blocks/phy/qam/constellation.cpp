// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/qam/constellation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "types/not_valid.h"

namespace wip::phy {

namespace {

constexpr unsigned gray(unsigned i) { return i ^ (i >> 1); }
constexpr std::array<std::uint8_t, 4> star_inner{0, 1, 6, 2};  // label of (sx, sy): ++, -+, +-, --
// Labels of the points on the axes: +x, -x, +y, -y.
constexpr std::array<std::uint8_t, 4> star_outer{4, 3, 5, 7};

// Points on the integer grid, by label.
std::vector<cf32> make_points(int k, eight_points eight) {
    std::vector<cf32> p(std::size_t{1} << k);
    if (k == 3 && eight != eight_points::rectangle) {
        const auto radius = static_cast<float>(axis_radius(eight));
        for (unsigned q = 0; q < 4; ++q)
            p[star_inner[q]] = {q & 1 ? -1.F : 1.F, q & 2 ? -1.F : 1.F};
        p[star_outer[0]] = {radius, 0};
        p[star_outer[1]] = {-radius, 0};
        p[star_outer[2]] = {0, radius};
        p[star_outer[3]] = {0, -radius};
        return p;
    }
    const int ky = k / 2;
    const int kx = k - ky;
    for (unsigned i = 0; i < 1U << kx; ++i)
        for (unsigned q = 0; q < 1U << ky; ++q) {
            float x = 2.F * static_cast<float>(i) - static_cast<float>((1 << kx) - 1);
            float y = 2.F * static_cast<float>(q) - static_cast<float>((1 << ky) - 1);
            if (k == 1) y = 0;
            const float limit = k == 5 ? 5 : k == 7 ? 11 : 100;
            if (std::abs(x) > limit) {
                const float moved_y = std::abs(x) - (k == 5 ? 2.F : 4.F);
                x = std::copysign(std::abs(y), x);
                y = std::copysign(moved_y, y);
            }
            p[gray(i) << ky | gray(q)] = {x, y};
        }
    return p;
}

// Level 0..count-1 of a coordinate in grid units, the nearest of -(count-1), .., count-1.
inline int level(float v, int count) {
    const float l = v * 0.5F + 0.5F * static_cast<float>(count);
    return static_cast<int>(std::min(std::max(0.F, l), static_cast<float>(count) - 0.5F));
}

// The slicers compute in whole words and store bytes afterwards: with byte stores in the same loop
// the compiler takes 64 symbols at a time and does the rest of a frame of 108 one by one.
constexpr int block = 128;
using words = std::array<std::int32_t, block>;

template <int K>
void slice_square(const float* re, const float* im, std::uint8_t* out, int n, float scale) {
    constexpr int half = K / 2;
    constexpr int count = 1 << half;
    words label;
    for (int i = 0; i < n; ++i) {
        const auto a = static_cast<unsigned>(level(re[i] * scale, count));
        const auto b = static_cast<unsigned>(level(im[i] * scale, count));
        label[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(gray(a) << half | gray(b));
    }
    for (int i = 0; i < n; ++i)
        out[i] = static_cast<std::uint8_t>(label[static_cast<std::size_t>(i)]);
}

// A cross of `Count` levels a side, with `Corner` levels missing at each end of each edge.
// Positions in the label table first, labels after.
template <int Count, int Corner>
void slice_cross(const float* re, const float* im, std::uint8_t* out, int n, float scale,
                 const std::uint8_t* labels) {
    constexpr float last = Count - 1;
    constexpr float inner = Count - 1 - 2 * Corner;  // largest level that is never in a corner
    words position;
    for (int i = 0; i < n; ++i) {
        const float x = std::abs(re[i] * scale);
        const float y = std::abs(im[i] * scale);
        const float lx = 2.F * static_cast<float>(level(x, Count)) - last;
        const float ly = 2.F * static_cast<float>(level(y, Count)) - last;
        // The nearest point in a corner is (lx, inner) or (inner, ly).
        const float d_keep_x = (x - lx) * (x - lx) + (y - inner) * (y - inner);
        const float d_keep_y = (x - inner) * (x - inner) + (y - ly) * (y - ly);
        // Conditions as 0 or 1 and products: no branch is left.
        const float corner = (lx > inner ? 1.F : 0.F) * (ly > inner ? 1.F : 0.F);
        const float keep_x = d_keep_x < d_keep_y ? 1.F : 0.F;
        const float px = lx - corner * (1 - keep_x) * (lx - inner);
        const float py = ly - corner * keep_x * (ly - inner);
        const float sx = last + (re[i] < 0 ? -px : px);
        const float sy = last + (im[i] < 0 ? -py : py);
        position[static_cast<std::size_t>(i)] =
            static_cast<int>(sx) / 2 * Count + static_cast<int>(sy) / 2;
    }
    for (int i = 0; i < n; ++i) out[i] = labels[position[static_cast<std::size_t>(i)]];
}

void slice_star(const float* re, const float* im, std::uint8_t* out, int n, float scale,
                float radius) {
    words label;
    for (int i = 0; i < n; ++i) {
        const float x = std::abs(re[i] * scale);
        const float y = std::abs(im[i] * scale);
        const float big = std::max(x, y);
        const float small = std::min(x, y);
        // |z - (1,1)|^2 > |z - (R,0)|^2
        const bool outer = big * (2 * radius - 2) - 2 * small + (2 - radius * radius) > 0;
        const unsigned nx = re[i] < 0;
        const unsigned ny = im[i] < 0;
        // The tables above, as nibbles of one word.
        const unsigned in = 0x2610U >> (4 * (nx | ny << 1)) & 15U;
        const unsigned on_x = x > y;
        const unsigned ax = 0x7534U >> (4 * (on_x ? nx : 2 + ny)) & 15U;
        label[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(outer ? ax : in);
    }
    for (int i = 0; i < n; ++i)
        out[i] = static_cast<std::uint8_t>(label[static_cast<std::size_t>(i)]);
}

void slice_rectangle(const float* re, const float* im, std::uint8_t* out, int n, float scale) {
    for (int i = 0; i < n; ++i)
        out[i] = static_cast<std::uint8_t>(
            gray(static_cast<unsigned>(level(re[i] * scale, 4))) << 1 | (im[i] >= 0 ? 1U : 0U));
}

void slice_bpsk(const float* re, std::uint8_t* out, int n) {
    for (int i = 0; i < n; ++i) out[i] = re[i] >= 0 ? 1 : 0;
}

}  // namespace

constellation::constellation(int bits_per_symbol, eight_points eight)
    : bits_(bits_per_symbol), eight_(eight) {
    if (bits_ < 1 || bits_ > max_bits_per_symbol)
        throw std::invalid_argument(not_valid("bits_per_symbol", std::to_string(bits_), "1..8"));
    points_ = make_points(bits_, eight_);
    double energy = 0;
    for (const auto p : points_) energy += static_cast<double>(std::norm(p));
    unit_ = static_cast<float>(1 / std::sqrt(energy / static_cast<double>(points_.size())));
    if (bits_ == 5 || bits_ == 7) {
        cross_side_ = bits_ == 5 ? 6 : 12;
        cross_labels_.resize(static_cast<std::size_t>(cross_side_ * cross_side_));
        for (std::size_t label = 0; label < points_.size(); ++label) {
            const int a = (static_cast<int>(points_[label].real()) + cross_side_ - 1) / 2;
            const int b = (static_cast<int>(points_[label].imag()) + cross_side_ - 1) / 2;
            cross_labels_[static_cast<std::size_t>(a * cross_side_ + b)] =
                static_cast<std::uint8_t>(label);
        }
    }
    for (auto& p : points_) p *= unit_;
}

void constellation::slice(const float* re, const float* im, std::uint8_t* labels,
                          int n) const noexcept {
    for (; n > 0; n -= block, re += block, im += block, labels += block)
        slice_block(re, im, labels, std::min(n, block));
}

void constellation::slice_block(const float* re, const float* im, std::uint8_t* labels,
                                int n) const noexcept {
    const float scale = 1 / unit_;
    switch (bits_) {
        case 1:
            return slice_bpsk(re, labels, n);
        case 2:
            return slice_square<2>(re, im, labels, n, scale);
        case 3:
            if (eight_ == eight_points::rectangle) return slice_rectangle(re, im, labels, n, scale);
            return slice_star(re, im, labels, n, scale, static_cast<float>(axis_radius(eight_)));
        case 4:
            return slice_square<4>(re, im, labels, n, scale);
        case 5:
            return slice_cross<6, 1>(re, im, labels, n, scale, cross_labels_.data());
        case 6:
            return slice_square<6>(re, im, labels, n, scale);
        case 7:
            return slice_cross<12, 2>(re, im, labels, n, scale, cross_labels_.data());
        default:
            return slice_square<8>(re, im, labels, n, scale);
    }
}

void constellation::points_of(const float* re, const float* im, const std::uint8_t* labels,
                              float* point_re, float* point_im, int n) const noexcept {
    if (bits_ % 2 == 0) {
        const int count = 1 << (bits_ / 2);
        const float scale = 1 / unit_;
        const float lowest = static_cast<float>(1 - count) * unit_;
        for (int i = 0; i < n; ++i) {
            point_re[i] = static_cast<float>(level(re[i] * scale, count)) * (2 * unit_) + lowest;
            point_im[i] = static_cast<float>(level(im[i] * scale, count)) * (2 * unit_) + lowest;
        }
        return;
    }
    for (int i = 0; i < n; ++i) {
        point_re[i] = points_[labels[i]].real();
        point_im[i] = points_[labels[i]].imag();
    }
}

void constellation::soft(const float* re, const float* im, const float* weight, float* llr,
                         int n) const noexcept {
    constexpr float far = std::numeric_limits<float>::max();
    const auto k = static_cast<std::size_t>(bits_);
    const bool square = bits_ % 2 == 0;
    for (int i = 0; i < n; ++i) {
        float zero[max_bits_per_symbol];
        float one[max_bits_per_symbol];
        std::fill_n(zero, k, far);
        std::fill_n(one, k, far);
        const auto consider = [&](float d, unsigned label, std::size_t first, std::size_t count) {
            for (std::size_t b = 0; b < count; ++b) {
                float& best = (label >> (count - 1 - b) & 1 ? one : zero)[first + b];
                best = std::min(best, d);
            }
        };
        if (square) {
            // The axes are independent: the other axis adds the same to both minima.
            const unsigned count = 1U << (k / 2);
            for (unsigned l = 0; l < count; ++l) {
                const float v =
                    unit_ * (2.F * static_cast<float>(l) - static_cast<float>(count - 1));
                consider((re[i] - v) * (re[i] - v), gray(l), 0, k / 2);
                consider((im[i] - v) * (im[i] - v), gray(l), k / 2, k / 2);
            }
        } else {
            for (unsigned label = 0; label < points_.size(); ++label) {
                const float dx = re[i] - points_[label].real();
                const float dy = im[i] - points_[label].imag();
                consider(dx * dx + dy * dy, label, 0, k);
            }
        }
        for (std::size_t b = 0; b < k; ++b)
            llr[static_cast<std::size_t>(i) * k + b] = (one[b] - zero[b]) * weight[i];
    }
}

}  // namespace wip::phy
