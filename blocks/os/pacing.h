// SPDX-License-Identifier: GPL-3.0-or-later
// How late, after its scheduled time, each slot (or packet) was released. The times are counted in
// histogram bins of 1 us up to 50 ms, so quantiles are exact to 1 us; of longer ones only the
// largest is kept. One thread adds, without ever waiting, while others read or reset: what it adds
// meanwhile may be missing in what they read. A lock would hold a real-time thread for as long as a
// reader of ordinary priority has no core.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace wip::os {

struct pacing_summary {
    double median_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
    std::uint64_t slots = 0, behind = 0;
};

class pacing {
public:
    explicit pacing(double limit_us) : limit_us_(limit_us) {}

    void add(double late_us) {
        late_us = std::max(late_us, 0.0);
        const auto bin = std::min(static_cast<std::size_t>(late_us), bins_.size() - 1);
        bins_[bin].fetch_add(1, relaxed);
        slots_.fetch_add(1, relaxed);
        if (late_us > limit_us_) late_.fetch_add(1, relaxed);
        if (late_us > max_us_.load(relaxed)) max_us_.store(late_us, relaxed);
    }
    void reset() {
        for (counter& bin : bins_) bin.store(0, relaxed);
        slots_.store(0, relaxed);
        late_.store(0, relaxed);
        max_us_.store(0, relaxed);
    }
    std::uint64_t behind() const { return late_.load(relaxed); }
    pacing_summary summary() const {
        return {quantile(0.5),         quantile(0.99),       quantile(0.999),
                max_us_.load(relaxed), slots_.load(relaxed), late_.load(relaxed)};
    }

private:
    using counter = std::atomic<std::uint64_t>;
    static constexpr auto relaxed = std::memory_order_relaxed;

    double quantile(double q) const {
        const std::uint64_t slots = slots_.load(relaxed);
        const double longest = max_us_.load(relaxed);
        std::uint64_t rank = static_cast<std::uint64_t>(q * static_cast<double>(slots)), sum = 0;
        if (slots == 0) return 0;
        for (std::size_t i = 0; i + 1 < bins_.size(); ++i)
            if ((sum += bins_[i].load(relaxed)) > rank)
                return std::min(static_cast<double>(i + 1), longest);
        return longest;
    }
    std::array<counter, 50001> bins_{};
    counter slots_ = 0, late_ = 0;
    std::atomic<double> max_us_ = 0;
    double limit_us_;
    static_assert(counter::is_always_lock_free && std::atomic<double>::is_always_lock_free);
};

}  // namespace wip::os
