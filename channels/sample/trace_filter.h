// SPDX-License-Identifier: GPL-3.0-or-later
// The channel of an SNR trace on samples: such gains that a receiver whose noise is what the trace
// was referred to finds in bin b and slot t what row t says. Amplitudes only: a trace has no
// phases. trace_response.h makes a filter of the gains of 25 bins.
//
//   limits   what is below -20 dB is -20 dB (no bit of it arrives either way); a gain is 6 dB at
//            most; a bin is at most 12 dB below its neighbour (more is too steep for the filter)
//   time     a filter for the middle of each slot and for each border, coefficients on straight
//            lines between; at a border the gain in dB is cubic between four slots. Row t is the
//            mean power of the slot: what this curve's mean is off is taken from its middle, 3 dB
//            at most
//   end      as at the bin level (bin/trace_channel.h): after the last row comes the first, and row
//            0 is the slot at index 0
//
// A function of rows and absolute index. Row t holds for slot t of the receiver, from its first
// sample on.
#pragma once

#include <memory>
#include <vector>

#include "sample/moving_fir.h"
#include "sample/trace_response.h"

namespace wip::sample_model {

using trace_rows = std::vector<bin_gains_db>;  // SNR in dB, one of a slot

struct trace_config {
    std::shared_ptr<const trace_rows> rows;  // at least one
    double unit_snr_db = 0;                  // of a bin whose gain is 1
};

class trace_filter {
public:
    static constexpr float quietest_played_db = -20, highest_gain_db = 6, steepest_db = 12;

    // Throws std::invalid_argument: no rows, a value that is not within -60 to 80 dB.
    explicit trace_filter(const trace_config& config);

    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::int64_t memory() const noexcept { return fir_.memory(); }
    std::int64_t latency() const noexcept { return 0; }
    // Coefficients at an absolute index: the taps, a sample apart.
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
