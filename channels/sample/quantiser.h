// SPDX-License-Identifier: GPL-3.0-or-later
// A converter of `bits` bits: I and Q are rounded to whole multiples of 1/(2^(bits-1) - 1) and
// clipped at full scale. With 16 bits exactly the values of UHD's sc16 (full scale 32767). Error
// power in a signal that fills several steps: step^2/6.
#pragma once

#include "sample/sample_stage.h"

namespace wip::sample_model {

struct quantiser_config {
    double bits = 12;            // a whole number, 2 to 16
    double full_scale_dbfs = 0;  // where it clips, -60 to 20
};

class quantiser : public memoryless {
public:
    quantiser(const quantiser_config& config, const stage_context& context);
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;

private:
    float scale_, step_, limit_;
};

}  // namespace wip::sample_model
