// SPDX-License-Identifier: GPL-3.0-or-later
// The channel at the bin level, the resolution at which the scheduler works: one SNR for every bin
// and slot. The SNR of a bin is the mean of |H|^2 over its 120 resource elements (20 subcarriers,
// six OFDM symbols) times the mean SNR, linear. It is a function of seed and slot: slots may be
// read in any order, and consecutive ones cost the least time.
#pragma once

#include <span>

#include "sample/snr_range.h"
#include "types/grid.h"

namespace wip::bin_model {

using sample_model::highest_snr_db;
using sample_model::lowest_snr_db;

class bin_channel {
public:
    virtual ~bin_channel() = default;
    virtual void snr(slot s, std::span<float, nof_bins> linear) noexcept = 0;
};

// The base station's knowledge about slot s when it plans it: the prediction FOR slot s, made some
// slots earlier. The implementation defines how many slots: a prediction of given quality (NMSE)
// does not depend on it, a recorded prediction has that of the recording.
class bin_prediction {
public:
    virtual ~bin_prediction() = default;
    virtual void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept = 0;
};

// The prediction without error.
class perfect_prediction final : public bin_prediction {
public:
    explicit perfect_prediction(bin_channel& channel) : channel_(&channel) {}
    void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept override {
        channel_->snr(s, linear);
    }

private:
    bin_channel* channel_;
};

}  // namespace wip::bin_model
