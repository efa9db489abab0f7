// SPDX-License-Identifier: GPL-3.0-or-later
// Samples that were lost: `samples` zeros at every event, as after an overflow of a receiver that
// puts zeros in the place of lost samples. Time goes on; in a receiver that leaves them out
// instead, the overflow is a timing jump.
#pragma once

#include "sample/events.h"

namespace wip::sample_model {

struct gap_config {
    double samples = 5120;  // a whole number, 1 to 10^8
    double start_s = 1, period_s = 1;
};

class gap : public memoryless {
public:
    gap(const gap_config& config, const stage_context& context)
        : times_("gap", config.start_s, config.period_s, context.sample_rate) {
        check_range("gap samples", config.samples, 1, 1e8);
        length_ = std::llround(config.samples);
    }
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
        for (std::size_t done = 0; done < out.size();) {
            const std::int64_t n = first + static_cast<std::int64_t>(done);
            const std::int64_t last = times_.last(n), next = times_.next(n);
            const bool lost = last != INT64_MIN && n - last < length_;
            const std::int64_t until = lost ? std::min(next, last + length_) : next;
            const std::size_t size = static_cast<std::size_t>(
                std::min<std::int64_t>(static_cast<std::int64_t>(out.size() - done), until - n));
            for (std::size_t i = done; i < done + size; ++i) out[i] = lost ? cf32{} : in[i];
            done += size;
        }
    }

private:
    event_times times_;
    std::int64_t length_;
};

}  // namespace wip::sample_model
