// SPDX-License-Identifier: GPL-3.0-or-later
// A level that jumps: `db` is added at every odd event and taken away at every even one.
#pragma once

#include "sample/events.h"
#include "types/db.h"

namespace wip::sample_model {

struct gain_step_config {
    double db = 10;  // -100 to 60
    double start_s = 1, period_s = 1;
};

class gain_step : public memoryless {
public:
    gain_step(const gain_step_config& config, const stage_context& context)
        : times_("gain_step", config.start_s, config.period_s, context.sample_rate) {
        check_range("gain_step db", config.db, -100, 60);
        amplitude_ = static_cast<float>(wip::db(config.db).amplitude());
    }
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
        for (std::size_t done = 0; done < out.size();) {
            const std::int64_t n = first + static_cast<std::int64_t>(done);
            const std::int64_t next = times_.next(n);
            const std::size_t size = static_cast<std::size_t>(
                std::min<std::int64_t>(static_cast<std::int64_t>(out.size() - done), next - n));
            const float a = times_.count(n) % 2 ? amplitude_ : 1.0f;
            for (std::size_t i = done; i < done + size; ++i)
                out[i] = cf32(a * in[i].real(), a * in[i].imag());
            done += size;
        }
    }

private:
    event_times times_;
    float amplitude_;
};

}  // namespace wip::sample_model
