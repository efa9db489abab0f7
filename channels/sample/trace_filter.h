// SPDX-License-Identifier: GPL-3.0-or-later
// The channel of an SNR trace at the sample level: with the noise to which the trace refers, a
// receiver finds in bin b and slot t the SNR of row t. A trace has amplitudes only, no phases.
// trace_response.h makes a filter from the gains of 25 bins.
//
//   limits   an SNR below -20 dB becomes -20 dB (no bit gets through in either case); a gain is at
//            most 6 dB; a bin is at most 12 dB below its neighbour (the filter cannot be steeper)
//   time     a filter for the middle of each slot and for each slot boundary, with linearly
//            interpolated coefficients between; at a boundary the gain in dB is interpolated
//            cubically from four slots. Row t is the mean power of the slot, so the deviation of
//            this curve's mean from it is subtracted in the middle of the slot, at most 3 dB
//   end      after the last row comes the first again, as at the bin level (bin/trace_channel.h);
//            row 0 is the slot at index 0
//
// The output is a function of rows, input and absolute index. Row t holds for slot t of the
// receiver, from its first sample on.
#pragma once

#include <memory>
#include <vector>

#include "sample/moving_fir.h"
#include "sample/trace_response.h"

namespace wip::sample_model {

using trace_rows = std::vector<bin_gains_db>;  // [slot], SNR of each bin in dB

struct trace_config {
    std::shared_ptr<const trace_rows> rows;  // at least one
    double unit_snr_db = 0;                  // SNR of a bin whose gain is 1
};

class trace_filter {
public:
    static constexpr float quietest_played_db = -20, highest_gain_db = 6, steepest_db = 12;

    // Throws std::invalid_argument: no rows, a value that is not within -60 to 80 dB.
    explicit trace_filter(const trace_config& config);

    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::int64_t memory() const noexcept { return fir_.memory(); }
    std::int64_t latency() const noexcept { return 0; }
    // The filter's coefficients at an absolute index, as taps one sample apart.
    static constexpr std::size_t nof_taps() { return trace_response::nof_coefficients; }
    void gains(std::int64_t index, std::span<cf32> out) noexcept;

private:
    static constexpr int padded = moving_fir::padded_size(trace_response::nof_coefficients);
    struct knot {
        std::int64_t number = INT64_MIN;
        alignas(64) std::array<float, padded> re{}, im{};
    };
    struct middle {
        std::int64_t slot = INT64_MIN;
        bin_gains_db gains{};
    };
    bin_gains_db limited(std::int64_t slot) const noexcept;
    const bin_gains_db& middle_of(std::int64_t slot) noexcept;
    const knot& knot_at(std::int64_t number) noexcept;
    void coefficients(std::int64_t index, float* re, float* im) noexcept;

    trace_config config_;
    trace_response response_;
    std::array<knot, 4> knots_;
    std::array<middle, 8> middles_;
    moving_fir fir_{trace_response::nof_coefficients, true};
};

}  // namespace wip::sample_model
