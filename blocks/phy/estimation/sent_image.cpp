// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/sent_image.h"

#include <algorithm>

namespace wip::phy {
namespace {

constexpr std::array payload_alone{2, 3};  // resource_map.h
constexpr int longest = 1024, fewest = 64;
constexpr float least = 4e-5F;  // of |b|^2: -44 dB

}  // namespace

void sent_image::learn(const planes& equalised, const planes& power) noexcept {
    float re = 0, im = 0, all = 0;
    for (const int l : payload_alone) {
        const plane& z = equalised[static_cast<std::size_t>(l)];
        const float* p = power[static_cast<std::size_t>(l)].re;
        for (int n = 0; n < nof_subcarriers / 2; ++n) {
            const int m = nof_subcarriers - 1 - n;
            const float a = z.re[n], b = z.im[n], c = z.re[m], d = z.im[m];
            const float w = p[n] * p[m];
            re += w * (a * c - b * d);
            im += w * (a * d + b * c);
            all += w * (a * a + b * b + c * c + d * d);
        }
    }
    if (!(all > 0)) return;
    slots_ = std::min(slots_ + 1, longest);
    const float share = 1 / static_cast<float>(slots_);
    re_ += share * (re / all - re_);
    im_ += share * (im / all - im_);
    removes_ = slots_ >= fewest && re_ * re_ + im_ * im_ > least;
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
