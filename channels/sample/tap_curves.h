// SPDX-License-Identifier: GPL-3.0-or-later
// The gains of all taps at any sample index: exact at knots (tap_process.h), which are T = 64..8192
// samples apart with 2 pi f T/fs <= 0.443, and a cubic Hermite polynomial between (error below -80
// dB). The delay line and the bin level both use them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sample/tap_process.h"

namespace wip::sample_model {

class tap_curves {
public:
    // Throws std::invalid_argument for a bad profile (delay_profile.h).
    tap_curves(const delay_profile& profile, const motion& movement, const stage_context& context);

    std::size_t size() const noexcept { return taps_.size(); }
    double delay_s(std::size_t p) const noexcept { return taps_.delay_s(p); }

    // Writes the gain of every tap, and zeros up to a multiple of 16. The polynomials of the last
    // knot interval are kept, so consecutive indexes cost little.
    void at(std::int64_t index, float* re, float* im) noexcept;
    // Shares the computed knots with `other` from now on. Both must have the same profile, motion
    // and context and be used by one thread, one of them some slots ahead of the other.
    void share_knots(const tap_curves& other) noexcept { knots_ = other.knots_; }
    // Writes the same gains as complex numbers, without changing the kept polynomials.
    void at(std::int64_t index, std::span<cf32> out) const noexcept;

private:
    void prepare_interval(std::int64_t interval) noexcept;
    const clarke_waves::knot* at_knot(std::int64_t knot) noexcept;  // knots of all taps

    struct knot_row {
        std::int64_t number = INT64_MIN;
        std::vector<clarke_waves::knot> taps;
    };
    // The knots computed last, at their number modulo the size. They suffice for a retransmission
    // delay of 9 slots at 250 km/h and 1.8 GHz; with a longer delay or higher speed some are
    // computed twice.
    using knot_cache = std::array<knot_row, 64>;

    int spacing_;
    tap_processes taps_;
    std::shared_ptr<knot_cache> knots_;
    std::size_t padded_;
    std::vector<float> cubic_re_, cubic_im_;  // [power 0..3][padded_]
    std::int64_t interval_ = INT64_MIN;
    int spacing_bits_;
    float inverse_spacing_;
};

}  // namespace wip::sample_model
