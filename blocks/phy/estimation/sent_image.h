// SPDX-License-Identifier: GPL-3.0-or-later
// The image that the transmitter's radio adds, x + b conj(x), as equalised subcarriers have it:
// z[n] = x[n] + b conj(x[m]), m the subcarrier at the carrier's other side. The image passes
// through the channel with the signal, so b is one number for all subcarriers, whatever the fading,
// and the mirror is the sender's carrier, on which the frequency offset has no effect (for the
// image of the receiver see sync/direct_conversion.h).
//
// Symbols of mirrored subcarriers have nothing to do with each other (the payload is scrambled),
// and noise neither, so E[z[n] z[m]] = b E[|x[n]|^2 + |x[m]|^2]. Learned from the two OFDM symbols
// of a slot that are payload alone, each pair weighted by p[n] p[m] (power of the channel), each
// slot alike, over up to 1024 slots with payload. 500 pairs a slot leave an error of 1 / sqrt(1000
// n): -55 dB after 150 slots, -60 after 1024. From 64 slots on it is removed if it is above -44 dB;
// below that, the symbols stay unchanged. Noise makes the estimated b smaller, in proportion to its
// share of the power.
//
// The channel is estimated from known symbols and decisions with the image in them, so neither it
// nor the reported noise has any.
#pragma once

#include <array>
#include <complex>

#include "phy/math/aligned.h"
#include "types/grid.h"

namespace wip::phy {

using cf32 = std::complex<float>;
class sent_image {
public:
    using planes = std::array<plane, symbols_per_slot>;

    // Equalised symbols as they are, and the channel's power at them.
    void learn(const planes& equalised, const planes& power) noexcept;
    cf32 share() const noexcept { return is_known_ ? cf32(re_, im_) : cf32(); }  // b, where known
    void clear() noexcept { *this = {}; }

private:
    int slots_ = 0;
    float re_ = 0, im_ = 0;
    bool is_known_ = false;
};

// x[n] + b conj(x[m]) of all, or of subcarriers first to last - 1.
void add_image(sent_image::planes& x, cf32 b, int first = 0, int last = nof_subcarriers) noexcept;

}  // namespace wip::phy
