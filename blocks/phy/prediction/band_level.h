// SPDX-License-Identifier: GPL-3.0-or-later
// The level that all components of a channel share (shadowing), slot by slot, taken apart from
// their fading.
//
// Shadowing multiplies the whole band, so a filter for Clarke's process sees it as an error that
// grows with the distance in time: at 75 km/h (4 dB, 2 m: 0.19 dB from slot to slot, 0.54 dB in
// three) as much as everything else that it misses. The power of the band does not show the level
// (it fades, too), but the part of the signal that the filters cannot predict does. With log
// amplitudes l_0 of this slot and l_1.. of those before, as far as they are wrong, the innovation
// of a component is
//     e = c - sum_i w_i x_i = l_0 x^ - sum_i l_i w_i x_i + error of the filter and noise,
// x_i its values in the slots before with their levels taken out, w the filter's weights, x^ their
// sum. All components have the same l, each another x: some twenty equations for a few unknowns,
// so that the past levels are found as well, and corrected in the history. (The part of e along x^
// alone, how much larger the band is than expected, would be a single equation: 0.060 instead of
// 0.048 of NMSE three slots ahead.) One or two components do not tell a level from what the filters
// miss of their fading, so on a flat channel no level is taken out.
//
// Prior: l_0 = 0.95 l_1 + b + white, b = 0.6 b + white; a Kalman filter over b and 15 levels, one
// equation after the other. What changes over more than 20 slots stays in the components, whose
// filters follow it. How much the level moves is learned from its increments of six slots ago, for
// which slots before and after have been received. Their mean square should equal the difference
// between the variance of the prior and that of the posterior. While it is less than 1.5 times that
// difference the prior shrinks, so that without shadowing nothing is taken out.
#pragma once

#include <array>
#include <span>

#include "phy/math/aligned.h"

namespace wip::phy {

class band_level {
public:
    static constexpr int lags = 14;  // slots before this one
    static constexpr int size = lags + 2;
    using row = std::array<float, size>;  // b, l_0, l_1, ..

    // The innovation of one component, with the estimated level removed.
    struct innovation {
        alignas(vector_alignment) row to_re, to_im;  // derivatives: by b (always 0), l_0, l_1, ..
        float re, im;
        float variance;  // filter's error and noise, re and im together
    };

    band_level() { reset(); }
    void reset() noexcept;
    // The next slot begins.
    void advance() noexcept;
    // Factors for what is stored of the slots before, the last one first.
    std::array<float, lags> learn(std::span<const innovation> components) noexcept;

    float amplitude() const noexcept;  // in this slot; before learn(): as predicted
    float amplitude_ahead(int slots) const noexcept;

private:
    void adapt() noexcept;
    row state_;
    alignas(vector_alignment) std::array<row, size> covariance_;
    float scale_;        // scale of the prior's variances
    float model_error_;  // factor of the components' variances
};

}  // namespace wip::phy
