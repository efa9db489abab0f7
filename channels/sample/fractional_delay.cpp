// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/fractional_delay.h"

#include <cmath>
#include <numbers>

namespace wip::sample_model {

delay_kernel::delay_kernel(int half_width, bool with_table)
    : half_width_(half_width), size_(2.0 * half_width * resolution) {
    constexpr double transition = 4 * std::numbers::pi * 0.1745;
    const double attenuation = 8 + 2.285 * transition * (2 * half_width - 1);
    beta_ = 0.1102 * (attenuation - 8.7);
    scale_ = 1 / std::cyl_bessel_i(0, beta_);
    if (!with_table) return;
    for (int i = 0; i <= 2 * half_width * resolution; ++i)
        table_.push_back(
            static_cast<float>(exact(static_cast<double>(i) / resolution - half_width)));
    table_.push_back(0);
}

double delay_kernel::exact(double u) const {
    if (!(std::abs(u) < half_width_)) return 0;
    if (u == std::round(u)) return u == 0 ? 1 : 0;
    const double x = u / half_width_;
    const double window = std::cyl_bessel_i(0, beta_ * std::sqrt(1 - x * x)) * scale_;
    return std::sin(std::numbers::pi * u) / (std::numbers::pi * u) * window;
}

}  // namespace wip::sample_model
