// SPDX-License-Identifier: GPL-3.0-or-later
// Six OFDM symbols of a slot out of its samples: CFO taken out, FFT, phase ramp, scale.
//
// The FFT window of a symbol begins `window_advance` samples before the end of its prefix. So the
// slot is complete 40 samples before its last sample, paths may come up to 40 samples earlier and
// 45 later than the timing says without interference between symbols. The advance and the fraction
// of the timing become a phase ramp over the subcarriers, which is taken out: a channel whose delay
// equals the timing comes out flat.
//
// The phase of the CFO correction is continuous over symbols and slots: the channel's phase can be
// followed from slot to slot, as CFO tracking and prediction need.
#pragma once

#include <array>
#include <complex>

#include "phy/math/aligned.h"
#include "phy/ofdm/ofdm.h"

namespace wip::phy {

inline constexpr int window_advance = 40;

class slot_extractor {
public:
    slot_extractor();
    void set_cfo(double hz) noexcept;
    // Part of the timing that is not in the sample index of the slot's start.
    void set_fraction(double samples) noexcept;

    // `samples`: the slot's 5120 samples (the last window_advance are not read). `phase`: of the
    // CFO correction at the first sample, radians.
    void extract(const cf32* samples, double phase,
                 std::array<plane, symbols_per_slot>& out) noexcept;

    double cfo() const noexcept { return cfo_; }

private:
    dft to_subcarriers_{dft::direction::to_subcarriers};
    aligned_vector<cf32> rotation_, window_, spectrum_;
    plane ramp_;
    double cfo_ = 0;
    double fraction_ = 0;
    float scale_;
};

}  // namespace wip::phy
