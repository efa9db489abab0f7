// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/tapped_delay_line.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

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
    : taps_(profile, movement, context),
      nof_coefficients_(coefficients_of(profile, context.sample_rate, half_width)),
      // Coefficients may be constant for 16 samples as long as the error of that is below -60 dB.
      fir_(nof_coefficients_, 2 * std::numbers::pi * movement.largest_doppler_hz() *
                                      moving_fir::step / context.sample_rate / std::sqrt(24.0) <
                                  1e-3) {
    const std::size_t width = static_cast<std::size_t>(fir_.padded());
    rows_.resize(taps_.size() * width);
    const delay_kernel kernel(half_width, false);
    std::vector<bool> used(width);
    for (std::size_t p = 0; p < taps_.size(); ++p)
        for (int j = 0; j < nof_coefficients_; ++j) {
            const double g =
                kernel.exact(j - (half_width - 1) - taps_.delay_s(p) * context.sample_rate);
            rows_[p * width + static_cast<std::size_t>(j)] = static_cast<float>(g);
            if (std::abs(g) > 1e-9) used[static_cast<std::size_t>(j)] = true;
        }
    fir_.use(used);
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
    const int width = fir_.padded();
    for (int k = 0; k < width; k += nof_lanes) {
        lanes sum_re{}, sum_im{};
        const float* row = rows_.data() + k;
        for (std::size_t p = 0; p < taps_.size(); ++p, row += width) {
            lanes r;
            std::memcpy(&r, row, sizeof r);
            sum_re += ar[p] * r;
            sum_im += ai[p] * r;
        }
        std::memcpy(re + k, &sum_re, sizeof sum_re);
        std::memcpy(im + k, &sum_im, sizeof sum_im);
    }
}

void tapped_delay_line::work(std::int64_t first, std::span<const cf32> in,
                             std::span<cf32> out) noexcept {
    fir_.work(first, in, out,
              [this](std::int64_t index, float* re, float* im) { coefficients(index, re, im); });
}

}  // namespace wip::sample_model
