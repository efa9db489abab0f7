// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/iq_imbalance.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace wip::sample_model {

iq_imbalance::iq_imbalance(const iq_imbalance_config& config, const stage_context&) {
    check_range("iq_imbalance image_rejection_db", config.image_rejection_db, 3, 200);
    check_range("iq_imbalance angle_deg", config.angle_deg, -360, 360);
    const double ratio = std::pow(10, -config.image_rejection_db / 10);
    const double a = std::sqrt(1 / (1 + ratio));
    const std::complex<double> b =
        std::polar(a * std::sqrt(ratio), config.angle_deg * std::numbers::pi / 180);
    re_re_ = static_cast<float>(a + b.real());
    re_im_ = static_cast<float>(b.imag());
    im_re_ = static_cast<float>(b.imag());
    im_im_ = static_cast<float>(a - b.real());
}

void iq_imbalance::work(std::int64_t, std::span<const cf32> in, std::span<cf32> out) noexcept {
    constexpr std::size_t block = 256;  // planar for the reason given in complex_multiply.h
    for (std::size_t done = 0; done < out.size(); done += block) {
        const std::size_t n = std::min(block, out.size() - done);
        alignas(64) float re[block], im[block];
        const cf32* x = in.data() + done;
        for (std::size_t i = 0; i < n; ++i) {
            re[i] = re_re_ * x[i].real() + re_im_ * x[i].imag();
            im[i] = im_re_ * x[i].real() + im_im_ * x[i].imag();
        }
        for (std::size_t i = 0; i < n; ++i) out[done + i] = cf32(re[i], im[i]);
    }
}

}  // namespace wip::sample_model
