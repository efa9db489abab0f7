// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tap_curves.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numbers>

namespace wip::sample_model {
namespace {

int knot_spacing(double doppler_hz, double sample_rate) {
    int spacing = 8192;
    while (spacing > 64 && 2 * std::numbers::pi * doppler_hz * spacing / sample_rate > 0.443)
        spacing /= 2;
    return spacing;
}

// Hermite polynomial between two knots.
struct cubic {
    cubic(const clarke_waves::knot& left, const clarke_waves::knot& right) {
        const cf32 difference = right.value - left.value;
        c[0] = left.value;
        c[1] = left.slope;
        c[2] = 3.0f * difference - 2.0f * left.slope - right.slope;
        c[3] = left.slope + right.slope - 2.0f * difference;
    }
    cf32 c[4];
};

}  // namespace

tap_curves::tap_curves(const delay_profile& profile, const motion& movement,
                       const stage_context& context)
    : spacing_(knot_spacing(movement.largest_doppler_hz(), context.sample_rate)),
      taps_(profile, movement, context, spacing_),
      knots_(std::make_shared<knot_cache>()),
      padded_((taps_.size() + 15) / 16 * 16),
      cubic_re_(4 * padded_),
      cubic_im_(4 * padded_),
      spacing_bits_(std::countr_zero(static_cast<unsigned>(spacing_))),
      inverse_spacing_(1.0f / static_cast<float>(spacing_)) {
    for (knot_row& row : *knots_) row.taps.resize(taps_.size());
}

const clarke_waves::knot* tap_curves::at_knot(std::int64_t knot) noexcept {
    knot_row& row = (*knots_)[static_cast<std::size_t>(knot) % knots_->size()];
    if (row.number != knot) {
        taps_.evaluate(knot, row.taps);
        row.number = knot;
    }
    return row.taps.data();
}

// The cubics of all taps over one knot interval.
void tap_curves::prepare_interval(std::int64_t interval) noexcept {
    if (interval == interval_) return;
    const std::size_t n = padded_;
    const clarke_waves::knot *left = at_knot(interval), *right = at_knot(interval + 1);
    for (std::size_t p = 0; p < taps_.size(); ++p) {
        const cubic c(left[p], right[p]);
        for (std::size_t i = 0; i < 4; ++i) {
            cubic_re_[i * n + p] = c.c[i].real();
            cubic_im_[i * n + p] = c.c[i].imag();
        }
    }
    interval_ = interval;
}

void tap_curves::at(std::int64_t index, float* re, float* im) noexcept {
    const std::int64_t interval = index >> spacing_bits_;  // rounds down
    prepare_interval(interval);
    const float x = static_cast<float>(index - (interval << spacing_bits_)) * inverse_spacing_;
    const std::size_t n = padded_;
    const float *cr = cubic_re_.data(), *ci = cubic_im_.data();
    for (std::size_t p = 0; p < n; ++p)
        re[p] = cr[p] + x * (cr[n + p] + x * (cr[2 * n + p] + x * cr[3 * n + p]));
    for (std::size_t p = 0; p < n; ++p)
        im[p] = ci[p] + x * (ci[n + p] + x * (ci[2 * n + p] + x * ci[3 * n + p]));
}

void tap_curves::at(std::int64_t index, std::span<cf32> out) const noexcept {
    const std::int64_t interval = index >> spacing_bits_;  // rounds down
    const float x = static_cast<float>(index - (interval << spacing_bits_)) * inverse_spacing_;
    std::array<clarke_waves::knot, max_profile_taps> left, right;
    taps_.evaluate(interval, left);
    taps_.evaluate(interval + 1, right);
    for (std::size_t p = 0; p < std::min(out.size(), taps_.size()); ++p) {
        const cubic k(left[p], right[p]);
        out[p] = k.c[0] + x * (k.c[1] + x * (k.c[2] + x * k.c[3]));
    }
}

}  // namespace wip::sample_model
