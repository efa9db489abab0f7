// SPDX-License-Identifier: GPL-3.0-or-later
// A constant added by a direct-conversion receiver: y = x + c, |c|^2 = dbfs, at an angle.
#pragma once

#include <numbers>

#include "sample/sample_stage.h"
#include "types/db.h"

namespace wip::sample_model {

struct dc_offset_config {
    double dbfs = -40;      // -200 to 0
    double angle_deg = 30;  // -360 to 360
};

class dc_offset : public memoryless {
public:
    dc_offset(const dc_offset_config& config, const stage_context&) {
        check_range("dc_offset dbfs", config.dbfs, -200, 0);
        check_range("dc_offset angle_deg", config.angle_deg, -360, 360);
        offset_ = cf32(std::polar(std::sqrt(wip::dbfs(config.dbfs).power()),
                                  config.angle_deg * std::numbers::pi / 180));
    }
    void work(std::int64_t, std::span<const cf32> in, std::span<cf32> out) noexcept {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i] + offset_;
    }

private:
    cf32 offset_;
};

}  // namespace wip::sample_model
