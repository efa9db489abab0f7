// SPDX-License-Identifier: GPL-3.0-or-later
// A retry limit that follows the channel of one hop (the literature's future work b leaves open
// how). Of the attempts that fail in a row, whatever frames they are of, a mean and a mean
// deviation are kept as TCP keeps those of its round trips. A frame gets as many attempts as nearly
// every such row asks for,
//
//   R = mean + 4 deviations + 1
//
// but no more than fit into `patience`: what takes longer is given up, and left to who sends it end
// to end. It gets at least 7, what 802.11 gives, and at most 50. Before the first row has ended:
// as many as fit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "wlan/dcf_times.h"

namespace wip::wlan {

class retry_control {
public:
    static constexpr int least = 7, most = 50;

    void attempt(bool failed) {
        if (failed) {
            ++row_;
            return;
        }
        if (row_ == 0) return;
        const double row = std::exchange(row_, 0);
        deviation_ = started_ ? deviation_ + (std::abs(row - mean_) - deviation_) / 4 : row / 2;
        mean_ = started_ ? mean_ + (row - mean_) / 8 : row;
        started_ = true;
    }

    // The number of attempts for a frame with a packet of so many bytes. A series of failures that
    // is still going on is not counted yet.
    int limit(const dcf_times& times, std::size_t packet, bool with_rts,
              std::int64_t patience_ns) const {
        const int asked =
            started_
                ? 1 + static_cast<int>(std::lround(std::min(mean_ + 4 * deviation_, most - 1.0)))
                : most;
        int fit = least;
        while (fit < asked &&
               times.mean_failed(packet, fit, with_rts) <= static_cast<double>(patience_ns))
            ++fit;
        return fit;
    }

private:
    bool started_ = false;
    int row_ = 0;
    double mean_ = 0, deviation_ = 0;
};

}  // namespace wip::wlan
