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
// With z = y conj(x) on the known elements (|x| = 1), design matrix X, prior P = diag(K, 0.003 K)
// and SNR g, the coefficients are (X'X + P^-1 / g)^-1 X' z. With the eigenvectors V and eigenvalues
// m of P^1/2 X'X P^1/2 that is P^1/2 V diag(1 / (m + 1/g)) (V' P^1/2 X') z: two real matrices for
// each W and set of known elements (pilots only; pilots and decoded control), made in the
// constructor, and between them one factor for each mode, which is all that depends on the SNR. So
// every SNR has its own filter, without any rounding of it. The inverse is also the covariance of
// what the estimate misses, in units of the noise variance: its mean over a bin is what |h|^2 of
// the estimate lacks there (more at the ends of the band). Such measures are taken from a table
// over the SNR, in steps of a decibel, and interpolated.
//
// W is 0.2, 1, 2, 4 or 7 us. A narrow W has few degrees of freedom, so less noise passes; the
// narrowest, with half of its power at the tracked timing, is for a single path. Generalised
// cross-validation chooses W: the score (rss / N) / (1 - dof / N)^2, smoothed over slots
// (`consider`), with three quarters of the degrees of freedom, because the score is flat about the
// best W, and the part of the channel that a narrow W misses also counts as noise. If a new path
// appears outside W, the estimate does not contain it: no grant is decoded, and the tracking does
// not see it. So slots without a grant try wider W from the pilots alone, but never narrower ones,
// which pure noise would prefer.
//
// The window's middle is the tracked timing, which follows the mean delay. This is too early where
// weak paths come late: in 3GPP's ETU it is 0.6 us after the first path and 4.4 us before the last,
// so W would have to be 8.8 us. So cross-validation also chooses the window's position. The
// matrices stay the same, as another position is only another timing. Moves by an eighth of W are
// tried to both sides, and with the widest W by a quarter, which finds a single path far away. If
// one is better, the tracking moves.
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
    // Samples by which the tracked timing should be later from the next slot on, so that the window
    // has the channel.
    int move_window = 0;
    // The error variance for each bin: mean over its elements and the slot.
    std::array<float, nof_bins> bin_error{};
    // Share of a channel with the assumed covariance that is in `middle`: mean of <a^, a> / <a, a>
    // over the bin.
    std::array<float, nof_bins> bin_share{};
    // Sum of the squared residuals of a bin's known elements, and its expectation for noise of
    // variance 1.
    std::array<float, nof_bins> bin_residual{}, bin_freedom{};
};

class channel_estimator {
public:
    channel_estimator();

    // y: the six symbols, normalised to unit energy per element. pilot and control values as sent.
    // snr: mean signal to noise ratio (linear); the filters are those of 0 to 42 dB.
    void from_pilots(const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
                     float snr, channel_estimate& out) noexcept;
    void from_all(const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
                  const cf32* control_values, float snr, channel_estimate& out) noexcept;
    // Tries a wider delay spread. Call after from_pilots with the same snr, if its estimate
    // `in_use` has not led to a grant.
    void try_wider(float snr, const channel_estimate& in_use) noexcept;

    // Delay spread in use, microseconds.
    double spread_us() const noexcept;
    const delay_basis& basis() const noexcept { return bases_[static_cast<std::size_t>(spread_)]; }
    void reset() noexcept;
    // The place of known element i, pilots first: symbol * nof_subcarriers + subcarrier.
    std::size_t place(std::size_t i) const noexcept {
        return static_cast<std::size_t>((all_.time[i] - symbol_time(0)) * nof_subcarriers) +
               static_cast<std::size_t>(all_.n[i]);
    }

private:
    static constexpr int nof_spreads = 5;
    static constexpr int nof_snrs = 43;  // 0 to 42 dB
    static constexpr int capacity = 320;
    static constexpr std::size_t most_modes = 2 * delay_basis::max_order;  // whole registers, too

    // Quality measures of a filter at one SNR.
    struct quality {
        float dof = 0;
        std::array<float, nof_bins> bin_error{}, bin_share{}, bin_freedom{};
    };
    struct filter {
        aligned_vector<float> to_modes;    // a row for each mode, filled up to whole groups
        aligned_vector<float> from_modes;  // a row for each mode, of the coefficients of a, then b
        std::array<float, most_modes> eigenvalue{};
        std::array<quality, nof_snrs> qualities;
    };

    // A set of known elements: the pilots, in their order, and behind them the control symbols.
    struct side {
        int count = 0, padded = 0;
        std::array<std::int32_t, capacity> place{};  // of y, from the first float of the planes
        std::array<std::int32_t, capacity> n{};      // occupied subcarrier
        alignas(vector_alignment) std::array<float, capacity> time{};
        std::array<filter, nof_spreads> filters;
        void add(int symbol, int subcarrier);
    };
    void design(side& s);
    void load(const side& s, const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
              const cf32* control_values) noexcept;
    void estimate(const side& s, int spread, float snr, channel_estimate& out) noexcept;
    void apply(const side& s, int spread, float snr) noexcept;
    void residual(const side& s, channel_estimate& e) const noexcept;
    void consider(const side& s, int candidate, float snr, const channel_estimate& in_use) noexcept;
    void consider_place(unsigned turn, float snr, channel_estimate& in_use) noexcept;
    bool is_better(float& score, float by, const channel_estimate& in_use) noexcept;

    std::vector<delay_basis> bases_;
    side pilots_, all_;
    plane z_;
    // Amplitudes of the modes; coefficients of a and behind them those of b.
    alignas(vector_alignment) std::array<float, most_modes> mode_re_{}, mode_im_{};
    alignas(vector_alignment) std::array<float, most_modes> re_{}, im_{};
    channel_estimate trial_;
    int spread_ = 3;
    unsigned trial_turn_ = 0, wider_turn_ = 0;
    std::array<float, nof_spreads> gcv_{};
    static constexpr unsigned nof_places = 4;  // earlier and later, as it is and with the widest W
    std::array<float, nof_places> place_gcv_{};
    std::array<cf32, fft_size> turns_;  // e^(2 pi j n / fft_size)
};

}  // namespace wip::phy
