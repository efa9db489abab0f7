// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/sent_image.h"

#include <algorithm>

#include "phy/math/lane_sum.h"

namespace wip::phy {
namespace {

constexpr std::array payload_only_symbols{2, 3};  // resource_map.h
constexpr int most_slots = 1024, least_slots = 64;
constexpr float least_power = 4e-5F;  // least |b|^2: -44 dB

}  // namespace

void sent_image::learn(const planes& equalised, const planes& power) noexcept {
    float re = 0, im = 0, all = 0;
    for (const int l : payload_only_symbols) {
        const plane& z = equalised[static_cast<std::size_t>(l)];
        const float* p = power[static_cast<std::size_t>(l)].re;
        constexpr std::size_t half = nof_subcarriers / 2;
        std::array<float, half> mirrored_re, mirrored_im, mirrored_power;
        std::reverse_copy(z.re + half, z.re + nof_subcarriers, mirrored_re.begin());
        std::reverse_copy(z.im + half, z.im + nof_subcarriers, mirrored_im.begin());
        std::reverse_copy(p + half, p + nof_subcarriers, mirrored_power.begin());
        const auto [of_re, of_im, of_all] =
            lane_sum(half, [&](auto at) {
                const auto a = at(z.re), b = at(z.im);
                const auto c = at(mirrored_re.data()), d = at(mirrored_im.data());
                const auto w = at(p) * at(mirrored_power.data());
                return lane_terms{w * (a * c - b * d), w * (a * d + b * c),
                                  w * (a * a + b * b + c * c + d * d)};
            }).of;
        re += of_re;
        im += of_im;
        all += of_all;
    }
    if (!(all > 0)) return;
    slots_ = std::min(slots_ + 1, most_slots);
    const float share = 1 / static_cast<float>(slots_);
    re_ += share * (re / all - re_);
    im_ += share * (im / all - im_);
    is_known_ = slots_ >= least_slots && re_ * re_ + im_ * im_ > least_power;
}

void add_image(sent_image::planes& x, cf32 share, int first, int last) noexcept {
    if (share == cf32()) return;
    const float re = share.real(), im = share.imag();
    const bool whole = first == 0 && last == nof_subcarriers;
    for (plane& z : x)
        for (int n = first; n < (whole ? nof_subcarriers / 2 : last); ++n) {
            const int m = nof_subcarriers - 1 - n;
            const float a = z.re[n], b = z.im[n], c = z.re[m], d = z.im[m];
            z.re[n] = a + re * c + im * d;
            z.im[n] = b + im * c - re * d;
            if (!whole) continue;
            z.re[m] = c + re * a + im * b;
            z.im[m] = d + im * a - re * b;
        }
}

}  // namespace wip::phy
