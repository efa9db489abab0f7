// SPDX-License-Identifier: GPL-3.0-or-later
// The gains of all taps at any sample index: exact at knots (tap_process.h) T = 64..8192 samples
// apart with 2 pi f T/fs <= 0.443, cubic Hermite between (error below -80 dB). The delay line and
// the bin level both read them here.
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

    // One number for every tap and zeros up to a multiple of 16. Keeps the polynomials of the last
    // knot interval: cheap where calls follow each other in time.
    void at(std::int64_t index, float* re, float* im) noexcept;
    // Shares the computed knots with `other` from now on. Both must be of the same channel
    // (profile, motion, context) and in one thread; one of them runs some slots ahead.
    void share_knots(const tap_curves& other) noexcept { knots_ = other.knots_; }
    // The same as the other at() without touching what is kept.
    void at(std::int64_t index, std::span<cf32> out) const noexcept;

private:
    void prepare_interval(std::int64_t interval) noexcept;
    const clarke_waves::knot* at_knot(std::int64_t knot) noexcept;  // of every tap

    struct knot_row {
        std::int64_t of = INT64_MIN;
        std::vector<clarke_waves::knot> taps;
    };
    // The knots computed last, by number modulo their count. They suffice for a retransmission
    // delay of 9 slots at 250 km/h and 1.8 GHz; beyond that knots are computed twice.
    using kept_knots = std::array<knot_row, 64>;

    int spacing_;
    tap_processes taps_;
    std::shared_ptr<kept_knots> knots_;
    std::size_t padded_;
    std::vector<float> cubic_re_, cubic_im_;  // [power 0..3][padded_]
    std::int64_t interval_ = INT64_MIN;
    int spacing_bits_;
    float inverse_spacing_;
};

}  // namespace wip::sample_model
