// SPDX-License-Identifier: GPL-3.0-or-later
// Interference between subcarriers: what a channel that changes within an OFDM symbol moves from
// every subcarrier to all others.
//
// With the channel of subcarrier m at sample i of the FFT window h_m + s_m t_i, t_i = time of the
// sample from the window's middle in OFDM symbols, the FFT sees on subcarrier k
//     h_k x_k + sum_m s_m x_m (1/768) sum_i t_i exp(j 2 pi (m - k) i / 768):
// the spectrum of s x, back in the time domain, times the ramp t_i, forth again. The sum falls only
// with 1/(m - k): 7 % of its power comes from more than eight subcarriers away, and into a bin that
// fades the strong part of the band reaches from far. So all of it is taken, by two FFTs a symbol.
//
// The window begins window_advance samples before the useful part; spectra are those of a window
// that begins with it (slot_extractor takes the difference out), so the last samples of the inverse
// FFT are the first of the window.
#pragma once

#include "phy/math/aligned.h"
#include "phy/ofdm/ofdm.h"

namespace wip::phy {

class intercarrier {
public:
    intercarrier();
    // `v`: s x of the used subcarriers of one symbol. out: the interference on each of them.
    void work(const plane& v, plane& out) noexcept;

private:
    dft to_samples_{dft::direction::to_samples}, to_subcarriers_{dft::direction::to_subcarriers};
    aligned_vector<cf32> spectrum_, samples_;
    aligned_vector<float> ramp_;  // twice for each sample: real and imaginary part
};

}  // namespace wip::phy
