// SPDX-License-Identifier: GPL-3.0-or-later
// I and Q that differ in gain and angle: y = a x + b conj(x). Every subcarrier f gets an image at
// -f, weaker by the image rejection |a|^2/|b|^2. `angle_deg` is that of b: 0 is a pure gain error
// (g = 1 + 2 |b|), 90 a pure quadrature error. |a|^2 + |b|^2 = 1 keeps the power.
#pragma once

#include "sample/sample_stage.h"

namespace wip::sample_model {

struct iq_imbalance_config {
    double image_rejection_db = 30;  // 3 to 200
    double angle_deg = 45;           // -360 to 360
};

class iq_imbalance : public memoryless {
public:
    iq_imbalance(const iq_imbalance_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    float re_re_, re_im_, im_re_, im_im_;  // factors from parts of the input to parts of the
                                           // output: re_im_ from imaginary to real
};

}  // namespace wip::sample_model
