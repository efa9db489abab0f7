// SPDX-License-Identifier: GPL-3.0-or-later
// The gains of all taps at any sample index, as two arrays: the same numbers that filter the
// samples (tapped_delay_line with the same profile, Doppler shift, seed and purpose).
#pragma once

#include <cstdint>
#include <vector>

#include "sample/tapped_delay_line.h"

namespace wip::bin_model {

class tap_track {
public:
    tap_track(const sample_model::delay_profile& profile, double doppler_hz,
              const sample_model::stage_context& context)
        : line_(profile, doppler_hz, context), gains_(profile.taps.size()) {}

    std::size_t size() const noexcept { return gains_.size(); }
    // re and im: one number for every tap.
    void at(std::int64_t index, float* re, float* im) noexcept {
        line_.gains(index, gains_);
        for (std::size_t p = 0; p < gains_.size(); ++p) {
            re[p] = gains_[p].real();
            im[p] = gains_[p].imag();
        }
    }

private:
    sample_model::tapped_delay_line line_;
    std::vector<sample_model::cf32> gains_;
};

}  // namespace wip::bin_model
