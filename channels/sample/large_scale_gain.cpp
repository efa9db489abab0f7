// SPDX-License-Identifier: GPL-3.0-or-later
#include "sample/large_scale_gain.h"

#include <algorithm>

#include "sample/floor_divide.h"

namespace wip::sample_model {

void large_scale_gain::work(std::int64_t first, std::span<const cf32> in,
                            std::span<cf32> out) noexcept {
    for (std::size_t done = 0; done < out.size();) {
        const std::int64_t n = first + static_cast<std::int64_t>(done);
        const std::int64_t interval = floor_divide(n, spacing);
        if (interval != interval_) {
            left_ = interval_ != INT64_MIN && interval - 1 == interval_
                        ? right_
                        : gain_.slow(interval * spacing).amplitude();
            right_ = gain_.slow((interval + 1) * spacing).amplitude();
            interval_ = interval;
            line_end_ = gain_.in_steps() ? left_ : right_;
        }
        const std::int64_t until =
            std::min((interval + 1) * spacing, gain_.next_blackout_change(n));
        const std::size_t size = static_cast<std::size_t>(
            std::min(until - n, static_cast<std::int64_t>(out.size() - done)));
        const double blackout_amplitude = gain_.blackout(n).amplitude();
        const float start = static_cast<float>(left_ * blackout_amplitude);
        const float slope = static_cast<float>((line_end_ - left_) * blackout_amplitude / spacing);
        const int offset = static_cast<int>(n - interval * spacing);
        const float* x = reinterpret_cast<const float*>(in.data() + done);
        float* y = reinterpret_cast<float*>(out.data() + done);
        for (std::size_t i = 0; i < size; ++i) {
            const float a = start + slope * static_cast<float>(offset + static_cast<int>(i));
            y[2 * i] = a * x[2 * i];
            y[2 * i + 1] = a * x[2 * i + 1];
        }
        done += size;
    }
}

}  // namespace wip::sample_model
