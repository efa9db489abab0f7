// SPDX-License-Identifier: GPL-3.0-or-later
// Times of single slots and what is said of them: the least tells what the code costs, the median
// what it costs on this machine now, the mean what it takes of a core.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

#include "types/grid.h"

namespace wip::bench {

constexpr double slot_budget_us = 1e6 / slots_per_second;

class slot_times {
public:
    template <class Work>
    void measure(Work work) {
        using timer = std::chrono::steady_clock;
        const auto start = timer::now();
        work();
        us_.push_back(std::chrono::duration<double, std::micro>(timer::now() - start).count());
    }
    void add(double us) { us_.push_back(us); }
    double last() const { return us_.back(); }
    std::size_t size() const { return us_.size(); }
    bool empty() const { return us_.empty(); }
    double median() const { return sorted(0.5); }
    double mean() const {
        return std::accumulate(us_.begin(), us_.end(), 0.0) / static_cast<double>(size());
    }

    // `"slots": ..., "least_us": ...`: part of a JSON object.
    void print() const {
        std::printf(
            "\"slots\": %zu, \"least_us\": %.2f, \"median_us\": %.2f, \"mean_us\": %.2f, "
            "\"p99_us\": %.2f, \"worst_us\": %.2f, \"budget_share_percent\": %.2f",
            size(), sorted(0), median(), mean(), sorted(0.99), sorted(1),
            100 * median() / slot_budget_us);
    }

private:
    double sorted(double q) const {
        auto s = us_;
        std::ranges::sort(s);
        return s[std::min(s.size() - 1,
                          static_cast<std::size_t>(q * static_cast<double>(s.size())))];
    }
    std::vector<double> us_;
};

}  // namespace wip::bench
