// SPDX-License-Identifier: GPL-3.0-or-later
// The bin-level channel of a trace in memory: row t of the trace is slot t. After its last row it
// begins again, with a jump of the SNR; a caller who does not want that checks nof_slots(). A trace
// may hold its own predictions; row t is then the prediction for slot t.
#pragma once

#include <vector>

#include "bin/bin_channel.h"

namespace wip::bin_model {

using trace_row = std::array<float, nof_bins>;

class trace_channel final : public bin_channel {
public:
    // Rows in dB. `predicted` empty: no predictions. Throws std::invalid_argument: no rows, rows of
    // unequal number, a value that is not within -60 to 80 dB.
    explicit trace_channel(std::vector<trace_row> snr_db,
                           std::vector<trace_row> predicted_snr_db = {});

    slot_count nof_slots() const noexcept {
        return slot_count(static_cast<std::int64_t>(snr_.size()));
    }
    bool has_prediction() const noexcept { return !predicted_.empty(); }
    std::span<const trace_row> linear() const noexcept { return snr_; }

    void snr(slot s, std::span<float, nof_bins> linear) noexcept override;
    // The SNR itself if the trace has no predictions.
    void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept;

private:
    std::vector<trace_row> snr_, predicted_;  // linear
};

// The predictions that a trace has recorded. The trace outlives this object.
class recorded_prediction final : public bin_prediction {
public:
    explicit recorded_prediction(trace_channel& trace) : trace_(&trace) {}
    void predicted_snr(slot s, std::span<float, nof_bins> linear) noexcept override {
        trace_->predicted_snr(s, linear);
    }

private:
    trace_channel* trace_;
};

}  // namespace wip::bin_model
