// SPDX-License-Identifier: GPL-3.0-or-later
// Channel of a slot from its known resource elements: linear minimum mean square error (Wiener)
// over the whole band and the whole slot.
//
// Model. h(x, t) = a(x) + t b(x), x = subcarrier on [-1, 1], t in OFDM symbols from the middle of
// the slot. Linear in time is enough: at a Doppler of 125 Hz the best straight line leaves 44 dB
// below the signal. Over frequency, a and b are Legendre series. The prior of the series is that of
// a channel whose power is spread evenly over delays within +-W/2 around the tracked timing: the
// Legendre coefficients of a path of delay tau are spherical Bessel functions,
//     q_d = sqrt(2d+1) (-j)^d j_d(2 pi tau 2505 kHz),
// and their covariance K, averaged over tau, is real. Degrees beyond 2 pi (W/2) 2505 kHz die out
// faster than exponentially, so D of them hold everything. b has the prior 0.003 K (100 Hz of
// Doppler at full power).
//
// With z = y conj(x) on the known elements (|x| = 1), design matrix X and SNR g, the coefficients
// are (X'X + diag(K, 0.003 K)^-1 / g)^-1 X' z: one real matrix for each W, SNR step and set of
// known elements (pilots only; pilots and decoded control), all made in the constructor.
//
// W is 0.2, 1, 2, 4 or 7 us: the narrower, the fewer degrees of freedom, the less noise passes. It
// is chosen by generalised cross-validation, (rss / N) / (1 - dof / N)^2, smoothed over slots (see
// `consider_spread`).
#pragma once

#include <array>
#include <complex>
#include <vector>

#include "phy/aligned.h"
#include "phy/resource_map.h"

namespace wip::phy {

using cf32 = std::complex<float>;

enum class known_set { pilots, all };

struct channel_estimate {
    plane middle;     // a of each subcarrier
    plane slope;      // b, per OFDM symbol
    float noise = 0;  // variance seen in the residual of this slot
    float error = 0;  // error variance of the estimate, as a multiple of the noise variance
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

    // Delay spread in use, microseconds.
    double spread_us() const noexcept;
    void reset() noexcept;

private:
    struct element {
        int symbol;
        int n;  // occupied subcarrier
        bool pilot;
        int index;  // into the pilot or control values
        float time;
    };
    struct filter {
        aligned_vector<float> matrix;  // 2 D rows, padded columns
        float dof = 0;
    };
    static constexpr int nof_spreads = 5;
    static constexpr int nof_snrs = 8;
    static constexpr int max_order = 66;

    struct side {  // one set of known elements
        std::vector<element> elements;
        std::array<std::array<filter, nof_snrs>, nof_spreads> filters;
        int padded = 0;
    };
    void design(side& s);
    void load(const side& s, const std::array<plane, symbols_per_slot>& y, const cf32* pilot_values,
              const cf32* control_values) noexcept;
    void apply(const side& s, int spread, int snr_step) noexcept;
    void expand(int order, channel_estimate& out) const noexcept;
    float residual(const side& s, const channel_estimate& e) const noexcept;
    void consider_spread(float gcv_in_use, int snr_step) noexcept;

    aligned_vector<float> basis_;  // max_order rows of plane_size
    side pilots_, all_;
    plane z_;
    std::array<float, 4 * max_order> coefficients_{};  // a re, a im, b re, b im
    channel_estimate trial_;
    int spread_ = 3;
    int trial_turn_ = 0;
    std::array<float, nof_spreads> gcv_{};
};

}  // namespace wip::phy
