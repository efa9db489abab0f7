// SPDX-License-Identifier: GPL-3.0-or-later
// A better channel from the decisions of a slot, for the frames that failed.
// Most symbols of a slot are decided right, also in most failed frames. With
// these decisions all used elements are known (3000 instead of 300). So the
// estimate has 10 dB less noise, and it can contain the curvature of the channel
// over the slot,
//     h(n, t) = a(n) + t b(n) + (t^2 - 35/12) c(n),
// and the interference between subcarriers, which the slope s = b + 2 t c makes (intercarrier.h),
// can be subtracted.
//
// From a first estimate (a, b; c = 0), or from the last one:
//   r = y - h x [- interference]        over all elements with a decision, else 0
//   a += sum over d of shrink_d U_d <U_d, mean over the symbols of conj(x) r>,  b and c alike with
//   the residual's moments over t and t^2 - 35/12
// The interference takes as long to compute as all the rest. It is always subtracted, with the
// new slope, where symbols are equalised again. From r it is subtracted only if that is worth the
// time (slot_detector.cpp), with the first slope, or with the last one in a repetition.
// No matrix is needed, because the members U_d of the delay basis are orthogonal over
// the band, and the three polynomials over the slot. |x|^2 is 1 only on average. The
// error of this is small, because the step starts from the residual of a good estimate.
// shrink_d = q_d / (q_d + noise / weight), where q_d is the prior variance of
// coefficient d.
//
// Elements of unused bins have x = 0 and take no part. Detection afterwards:
// (y - interference) conj(h) / |h|^2.
#pragma once

#include <array>
#include <complex>

#include "phy/estimation/channel_estimator.h"
#include "phy/estimation/delay_basis.h"
#include "phy/estimation/intercarrier.h"
#include "types/bin.h"
#include "types/lanes.h"

namespace wip::phy {

// The input of the second pass over a slot besides the first estimate.
struct known_symbols {
    const cf32* pilots;
    const cf32* control;
    const delay_basis* basis;
    float signal;                 // mean power of the channel
    const cf32* image = nullptr;  // the transmitter's (sent_image.h)
};

class decision_feedback {
public:
    using grid = intercarrier::grid;

    // The symbols of all elements; the caller fills in the payload. 0: not known.
    grid& symbols() noexcept { return x_; }
    // The elements in which the interference is subtracted: none (nowhere), those that are
    // equalised (looked_at), or also those of the estimate's residual (everywhere).
    enum class subtract { nowhere, looked_at, everywhere };
    // noise: mean power per element. looked_at: bins to be equalised, if interference is subtracted
    // there alone.
    void work(const grid& y, const channel_estimate& first, const known_symbols& known, float noise,
              subtract interference, const bin_set& looked_at = all_bins) noexcept;
    // Repeats work() with `everywhere` for the same slot, from the last estimate and other
    // decisions: the caller has changed those of the payload, and with an image has filled in all
    // of them again.
    void again(const grid& y, const known_symbols& known, float noise,
               const bin_set& looked_at = all_bins) noexcept;

    // The elements of a bin equalised, and |h|^2 (in power[].re).
    void equalise(const grid& y, bin_index bin, grid& out, grid& power) const noexcept;

    const plane& middle() const noexcept { return h_[0]; }
    const plane& slope() const noexcept { return h_[1]; }
    const plane& curve() const noexcept { return h_[2]; }

private:
    void set_known(const known_symbols& known) noexcept;
    template <std::size_t Used, bool Without>
    void compare(const grid& y) noexcept;
    template <std::size_t Used>
    std::array<lanes, 2> channel(std::size_t symbol, int n) const noexcept;
    template <std::size_t Used>
    void refine(const known_symbols& known, float noise) noexcept;
    static constexpr std::size_t terms = 3;
    grid x_, interference_;
    std::array<plane, terms> h_;  // a, b, c
    std::array<plane, terms> moment_;
    bool interference_is_known_ = false;
    intercarrier between_;
};

// Power of the interference between subcarriers that a channel of slope b makes, per element.
float intercarrier_power(const channel_estimate& channel) noexcept;

}  // namespace wip::phy
