// SPDX-License-Identifier: GPL-3.0-or-later
// Channel of a slot from its known resource elements: linear minimum mean square error (Wiener)
// over the whole band and the whole slot.
//
// Model. h(n, t) = a(n) + t b(n), n = subcarrier, t in OFDM symbols from the middle of the slot.
// Linear in time is enough for a first estimate: at a Doppler of 125 Hz the best straight line
// leaves 44 dB below the signal (decision_feedback takes the curvature in). a and b are series in
// the delay basis of a spread of W around the tracked timing, in which the prior is diagonal:
// K = diag(variance of the member) for a, 0.003 K (100 Hz of Doppler at full power) for b.
//
// With z = y conj(x) on the known elements (|x| = 1), design matrix X and SNR g, the coefficients
// are (X'X + diag(K, 0.003 K)^-1 / g)^-1 X' z: one real matrix for each W, SNR step and set of
// known elements (pilots only; pilots and decoded control), all made in the constructor. The
// inverse is also the covariance of what the estimate misses, in units of the noise variance: its
// mean over a bin is what |h|^2 of the estimate lacks there (more at the ends of the band).
//
// W is 0.2, 1, 2, 4 or 7 us (the narrowest, with half of its power on the tracked timing itself, is
// for a single path): the narrower, the fewer degrees of freedom, the less noise passes. It
// is chosen by generalised cross-validation, (rss / N) / (1 - dof / N)^2, smoothed over slots (see
// `consider`), with three quarters of the degrees of freedom: about the best W the score is flat,
// and what a narrower one leaves out of the channel is not only missing, it counts as noise. A path
// that appears outside of the W in use is not in the estimate: no grant is decoded with it and the
// tracking does not see it either. So slots without a grant look for a wider W with the pilots
// alone; never for a narrower one, which a slot of nothing but noise would prefer.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <vector>

#include "phy/estimation/delay_basis.h"
#include "phy/grid/resource_map.h"
#include "phy/math/aligned.h"

namespace wip::phy {

using cf32 = std::complex<float>;

struct channel_estimate {
    plane middle;     // a of each subcarrier
    plane slope;      // b, per OFDM symbol
    float noise = 0;  // variance seen in the residual of this slot
    float error = 0;  // error variance of the estimate, as a multiple of the noise variance
    // The same for each bin, mean over its elements and the slot.
    std::array<float, nof_bins> bin_error{};
    // How much of a channel as supposed is in `middle`, the mean of <a^, a> / <a, a> over the bin.
    std::array<float, nof_bins> bin_share{};
    // Squared residuals of a bin's known elements, and what they are for noise of variance 1.
    std::array<float, nof_bins> bin_residual{}, bin_freedom{};
};

class channel_estimator {
public:
    channel_estimator();

    // y: the six symbols, normalised to unit energy per element. pilot and control values as sent.
    // snr: mean signal to noise ratio (linear), chooses the filter.
    void from_pilots(const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
                     float snr, channel_estimate& out) noexcept;
    void from_all(const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
                  const cf32* control_values, float snr, channel_estimate& out) noexcept;
    // After from_pilots with the same snr, when no grant came of its estimate `in_use`.
    void try_wider(float snr, const channel_estimate& in_use) noexcept;

    // Delay spread in use, microseconds.
    double spread_us() const noexcept;
    const delay_basis& basis() const noexcept { return bases_[static_cast<std::size_t>(spread_)]; }
    void reset() noexcept;
    // Of known element i, pilots first: symbol * nof_subcarriers + subcarrier.
    std::size_t place(std::size_t i) const noexcept {
        return static_cast<std::size_t>((all_.time[i] - symbol_time(0)) * nof_subcarriers) +
               static_cast<std::size_t>(all_.n[i]);
    }

private:
    struct filter {
        aligned_vector<float> matrix;  // 2 D rows (a, then b), filled up to whole groups
        float dof = 0;
        std::array<float, nof_bins> bin_error{}, bin_share{}, bin_freedom{};
    };
    static constexpr int nof_spreads = 5;
    static constexpr int nof_snrs = 8;
    static constexpr int capacity = 320;

    // A set of known elements: the pilots, in their order, and behind them the control symbols.
    struct side {
        int count = 0, padded = 0;
        std::array<std::int32_t, capacity> place{};  // of y, from the first float of the planes
        std::array<std::int32_t, capacity> n{};      // occupied subcarrier
        alignas(vector_alignment) std::array<float, capacity> time{};
        std::array<std::array<filter, nof_snrs>, nof_spreads> filters;
        void add(int symbol, int subcarrier);
    };
    void design(side& s);
    void load(const side& s, const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
              const cf32* control_values) noexcept;
    const filter& filter_of(const side& s, int spread, int snr_step) const noexcept {
        return s.filters[static_cast<std::size_t>(spread)][static_cast<std::size_t>(snr_step)];
    }
    void estimate(const side& s, int spread, int snr_step, channel_estimate& out) noexcept;
    void apply(const side& s, int spread, int snr_step) noexcept;
    void residual(const side& s, channel_estimate& e) const noexcept;
    void consider(const side& s, int candidate, int snr_step,
                  const channel_estimate& in_use) noexcept;

    std::vector<delay_basis> bases_;
    side pilots_, all_;
    plane z_;
    std::array<float, 2 * delay_basis::max_order + 4> re_{}, im_{};  // coefficients of a, then b
    channel_estimate trial_;
    int spread_ = 3;
    unsigned trial_turn_ = 0, wider_turn_ = 0;
    std::array<float, nof_spreads> gcv_{};
};

}  // namespace wip::phy
