// SPDX-License-Identifier: GPL-3.0-or-later
// From the gains of the taps to the gains of the bins, one slot at a time.
//
// g_b = mean over the bin's 20 subcarriers n and the slot's six symbols l of |H(n, l)|^2,
// H(n, l) = sum_p a_p(t_l) exp(-j 2 pi f_n tau_p). Computed directly that takes 120 responses of
// every tap for each of 25 bins, 3000 in all. As |H|^2 is a smooth function over a bin and over a
// slot, both means are taken by Gauss quadrature on few nodes (discrete_gauss.h): as many as bring
// the error of g below 1e-4 of the mean power, rms over the fading. jakes at 125 Hz needs 3
// frequencies a bin and 2 times a slot: 150 responses. tests/unit/channels/test_bin_channel.cpp
// compares it with the direct sum.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "sample/delay_profile.h"
#include "types/grid.h"

namespace wip::bin_model {

using cf32 = std::complex<float>;

// Frequency of occupied subcarrier n = 0..499 against the carrier.
constexpr double subcarrier_hz(int n) {
    const int i = fft_index(n);
    return (i < fft_size / 2 ? i : i - fft_size) * (static_cast<double>(sample_rate_hz) / fft_size);
}

// Sample in the middle of the FFT window of OFDM symbol l, from the start of the slot.
constexpr int symbol_middle(int l) {
    return symbol_offset(l) + prefix_samples[static_cast<std::size_t>(l)] + fft_size / 2;
}

class bin_response {
public:
    // Checks the profile (std::invalid_argument).
    bin_response(const sample_model::delay_profile& profile, double doppler_hz);

    struct instant {
        int sample;  // from the start of the slot
        float weight;
    };
    std::span<const instant> instants() const noexcept { return instants_; }

    // Adds weight times the mean power of every bin, for the taps' gains at one instant; and to
    // `gain`, unless it is empty, weight times the mean response of every bin.
    void add(const float* tap_re, const float* tap_im, float weight,
             std::span<float, nof_bins> power, std::span<cf32> gain = {}) const noexcept;

private:
    static constexpr int row = 32;  // the number of bins, rounded up to whole vectors
    std::size_t taps_;
    int frequencies_ = 1;
    std::vector<instant> instants_;
    std::vector<float> weights_;  // [frequency][row]
    std::vector<float> re_, im_;  // [frequency][tap][row]
};

}  // namespace wip::bin_model
