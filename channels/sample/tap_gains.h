// SPDX-License-Identifier: GPL-3.0-or-later
// The gains a_p of the taps of a delay profile, as functions of seed, purpose and sample index: the
// one fading process behind every fidelity. tapped_delay_line filters samples with it, bin_model
// turns it into the SNR of bins; with the same seed and purpose they see the same fades.
//
// Rayleigh = clarke_waves; Rice = line of sight with 0.7 of the largest Doppler shift (as
// TR 38.901, 7.7.2 has it for an angle of 45 degrees) plus clarke_waves; constant = fixed
// amplitude, random phase. Independent for every tap. Mean powers sum to 1.
//
// Exact at knots T = 64..8192 samples apart with 2 pi f T/fs <= 0.443, cubic Hermite between
// (error below -80 dB).
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "sample/clarke_waves.h"
#include "sample/delay_profile.h"
#include "sample/sample_stage.h"

namespace wip::sample_model {

class tap_gains {
public:
    // Throws std::invalid_argument for a bad profile (delay_profile.h) and unless 0 <= doppler_hz
    // <= 2000.
    tap_gains(const delay_profile& profile, double doppler_hz, const stage_context& context);

    std::size_t size() const noexcept { return taps_.size(); }
    std::size_t padded_size() const noexcept { return padded_; }           // size as whole vectors
    double delay(std::size_t p) const noexcept { return taps_[p].delay; }  // samples

    // All gains at an absolute sample index, `padded_size()` of each part, zeros after the last
    // tap. Keeps the polynomials of the last knot interval: cheap where calls follow each other in
    // time.
    void at(std::int64_t index, float* re, float* im) noexcept;
    // The same without touching what is kept.
    void at(std::int64_t index, std::span<cf32> out) const noexcept;

private:
    struct tap {
        clarke_waves waves;
        double delay;             // samples
        float scattered, direct;  // amplitudes
        double direct_turns_per_knot, direct_phase;
        clarke_waves::knot right{};
    };
    clarke_waves::knot evaluate(const tap& t, std::int64_t knot) const noexcept;
    void prepare_interval(std::int64_t interval) noexcept;

    std::vector<tap> taps_;
    std::size_t padded_ = 0;
    std::vector<float> cubic_re_, cubic_im_;  // [power 0..3][padded_]
    std::int64_t interval_ = INT64_MIN;
    int spacing_bits_ = 6;
    float inverse_spacing_ = 1;
};

}  // namespace wip::sample_model
