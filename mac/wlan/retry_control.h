// SPDX-License-Identifier: GPL-3.0-or-later
// A retry limit that follows the channel of one hop. Fotiadis (2005) names it as future work, and
// leaves open how; this is our own rule. It keeps a mean and a mean deviation of the number of
// attempts that fail in a row, whatever frames they are of, as TCP does of its round trips. A frame
// gets as many attempts as nearly every such row needs,
//
//   R = mean + 4 deviations + 1
//
// but no more than fit into `patience_ns`: a frame that takes longer is dropped, and its
// retransmission left to the end-to-end protocol. It gets at least 7, what 802.11 gives, and at
// most 50. Before the first row has ended it gets as many as fit.
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
            ++failed_in_a_row_;
            return;
        }
        if (failed_in_a_row_ == 0) return;
        const double length = std::exchange(failed_in_a_row_, 0);
        deviation_ =
            started_ ? deviation_ + (std::abs(length - mean_) - deviation_) / 4 : length / 2;
        mean_ = started_ ? mean_ + (length - mean_) / 8 : length;
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
    int failed_in_a_row_ = 0;
    double mean_ = 0, deviation_ = 0;
};

}  // namespace wip::wlan
