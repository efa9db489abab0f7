// SPDX-License-Identifier: GPL-3.0-or-later
// How far behind its schedule each slot (or packet) was released. Counted in bins of 1 us up to 50
// ms, so quantiles are exact to 1 us; beyond, only the largest is kept. One thread may add while
// another reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace wip::runtime {

struct pacing_summary {
    double median_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
    std::uint64_t slots = 0, behind = 0;
};

class pacing {
public:
    explicit pacing(double limit_us) : limit_us_(limit_us) {}

    void add(double behind_us) {
        const std::lock_guard lock(mutex_);
        behind_us = std::max(behind_us, 0.0);
        ++bins_[std::min<std::size_t>(static_cast<std::size_t>(behind_us), bins_.size() - 1)];
        ++slots_;
        if (behind_us > limit_us_) ++behind_;
        max_us_ = std::max(max_us_, behind_us);
    }
    void reset() {
        const std::lock_guard lock(mutex_);
        bins_.fill(0);
        slots_ = behind_ = 0;
        max_us_ = 0;
    }
    std::uint64_t behind() const {
        const std::lock_guard lock(mutex_);
        return behind_;
    }
    pacing_summary summary() const {
        const std::lock_guard lock(mutex_);
        return {quantile(0.5), quantile(0.99), quantile(0.999), max_us_, slots_, behind_};
    }

private:
    double quantile(double q) const {
        std::uint64_t rank = static_cast<std::uint64_t>(q * static_cast<double>(slots_)), sum = 0;
        if (slots_ == 0) return 0;
        for (std::size_t i = 0; i + 1 < bins_.size(); ++i)
            if ((sum += bins_[i]) > rank) return std::min(static_cast<double>(i + 1), max_us_);
        return max_us_;
    }
    mutable std::mutex mutex_;
    std::array<std::uint64_t, 50001> bins_{};
    std::uint64_t slots_ = 0, behind_ = 0;
    double max_us_ = 0;
    double limit_us_;
};

}  // namespace wip::runtime
