// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/quantiser.h"

#include <algorithm>
#include <cmath>

#include "types/db.h"

namespace wip::sample_model {

quantiser::quantiser(const quantiser_config& config, const stage_context&) {
    check_range("quantiser bits", config.bits, 2, 16);
    require(config.bits == std::round(config.bits), "quantiser bits", config.bits,
            "a whole number");
    check_range("quantiser full_scale_dbfs", config.full_scale_dbfs, -60, 20);
    const double full = db(config.full_scale_dbfs).amplitude();
    const double steps = std::exp2(config.bits - 1) - 1;
    limit_ = static_cast<float>(steps);
    scale_ = static_cast<float>(steps / full);
    step_ = static_cast<float>(full / steps);
}

void quantiser::work(std::int64_t, std::span<const cf32> in, std::span<cf32> out) noexcept {
    const float* x = reinterpret_cast<const float*>(in.data());
    float* y = reinterpret_cast<float*>(out.data());
    for (std::size_t i = 0; i < 2 * out.size(); ++i)
        y[i] = step_ * std::nearbyint(std::min(limit_, std::max(-limit_, scale_ * x[i])));
}

}  // namespace wip::sample_model
