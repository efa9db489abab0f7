// SPDX-License-Identifier: GPL-3.0-or-later
// Time-variant multipath: y(t) = sum_p a_p(t) x(t - tau_p), total mean power 1.
//
// Gains of the taps a_p: tap_curves.h, the same as at the bin level.
//
// One FIR for all taps: every tap's fractional delay is a row g_p[k] = k(k - latency - tau_p) of 14
// coefficients (fractional_delay.h, M = 7: -70 dB error inside the band), and c_k = sum_p a_p
// g_p[k]. So the cost does not grow with the number of taps but with the spread: 12 taps 200 ns
// apart take 31 coefficients. The row starts before the tap, hence a latency of 6 samples, common
// to all.
//
// Three rates: a_p exactly at knots, cubic between (tap_curves.h); c_k from them every 64 samples;
// linear between. The error of the linear part is at most (2 pi f 64/fs)^2/8: -105 dB at 125 Hz,
// -57 dB at 2 kHz. Between, the coefficients change every 16 samples if the error of that, 2 pi f
// 16/(fs sqrt(24)) rms, is below -60 dB (f <= 374 Hz; -70 dB at 125 Hz), else every sample.
// Coefficients that are constant for 64 samples would have an error of -57 dB at 125 Hz and be no
// faster.
//
// Vectors of the inner loop lie at multiples of their size of the absolute index: the size of the
// calls does not change a bit. tests/unit/channels/test_tapped_delay_line.cpp,
// tests/bench/bench_channels.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sample/delay_profile.h"
#include "sample/moving_fir.h"
#include "sample/sample_stage.h"
#include "sample/tap_curves.h"

namespace wip::sample_model {

class tapped_delay_line {
public:
    // Throws std::invalid_argument for a bad profile (delay_profile.h).
    tapped_delay_line(const delay_profile& profile, const motion& movement,
                      const stage_context& context);
    // The same at a constant Doppler shift, 0 to 2000 Hz.
    tapped_delay_line(const delay_profile& profile, double doppler_hz,
                      const stage_context& context);

    void work(std::int64_t first, std::span<const cf32> in, std::span<cf32> out) noexcept;
    std::int64_t memory() const noexcept { return nof_coefficients_ - 1; }
    std::int64_t latency() const noexcept { return half_width - 1; }

    std::size_t nof_taps() const noexcept { return taps_.size(); }
    double delay_s(std::size_t tap) const noexcept { return taps_.delay_s(tap); }
    // Gains of the taps at an absolute index, with sqrt(power): the channel that a receiver has to
    // estimate. May be called between calls of work().
    void gains(std::int64_t index, std::span<cf32> out) const noexcept { taps_.at(index, out); }
    // Frequency response at `hz`, from those gains, without the latency.
    std::complex<double> response(std::int64_t index, double hz) const;

private:
    static constexpr int half_width = 7;

    void coefficients(std::int64_t index, float* re, float* im) noexcept;

    tap_curves taps_;
    int nof_coefficients_ = 1;
    std::vector<float> rows_;  // [tap][padded]
    moving_fir fir_;
};

}  // namespace wip::sample_model
