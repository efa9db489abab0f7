// SPDX-License-Identifier: GPL-3.0-or-later
// A delay that jumps by `samples` at every event, out[n] = in[n - d]. When it grows, samples are
// repeated; when it shrinks, samples are skipped, for which a stage needs a delay at its start. A
// jump that would make the delay negative or larger than max_delay_samples is not made.
#pragma once

#include "sample/events.h"
#include "sample/history_buffer.h"

namespace wip::sample_model {

struct timing_jump_config {
    double samples = 10;  // whole number, +-100000, not 0
    double start_s = 1, period_s = 0;
    double start_delay_samples = 0;   // whole number, 0 to max_delay_samples
    double max_delay_samples = 4096;  // 0 to 1000000
};

class timing_jump {
public:
    timing_jump(const timing_jump_config& c, const stage_context& context)
        : times_("timing_jump", c.start_s, c.period_s, context.sample_rate),
          max_(checked(c.max_delay_samples)),
          history_(max_ + 1) {
        check_range("timing_jump samples", c.samples, -1e5, 1e5);
        check_range("timing_jump start_delay_samples", c.start_delay_samples, 0,
                    c.max_delay_samples, "max_delay_samples");
        step_ = std::llround(c.samples);
        start_ = std::llround(c.start_delay_samples);
        if (step_ == 0 || (step_ < 0 ? start_ + step_ < 0 : start_ + step_ > max_))
            refuse("timing_jump samples", text_of(c.samples),
                   "other than 0, and leading from start_delay_samples to 0..max_delay_samples");
        history_.restart(0);
    }
    std::int64_t delay(std::int64_t n) const noexcept {
        const std::int64_t fit = step_ > 0 ? (max_ - start_) / step_ : start_ / -step_;
        return start_ + step_ * std::min(fit, times_.count(n));
    }
    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept {
        if (first != history_.end()) history_.restart(first);
        for (std::size_t done = 0; done < out.size();) {
            const std::int64_t n = first + static_cast<std::int64_t>(done);
            const std::size_t size = static_cast<std::size_t>(
                std::min({static_cast<std::int64_t>(out.size() - done),
                          history_buffer::largest_append, times_.next(n) - n}));
            history_.append(in.subspan(done, size));
            const std::int64_t from = n - delay(n);
            const float *re = history_.re(from), *im = history_.im(from);
            for (std::size_t i = 0; i < size; ++i) out[done + i] = cf32(re[i], im[i]);
            done += size;
        }
    }
    std::int64_t memory() const noexcept { return max_; }
    std::int64_t latency() const noexcept { return 0; }

private:
    static std::int64_t checked(double samples) {
        check_range("timing_jump max_delay_samples", samples, 0, 1e6);
        return std::llround(samples);
    }
    event_times times_;
    std::int64_t max_;
    history_buffer history_;
    std::int64_t step_, start_;
};

}  // namespace wip::sample_model
