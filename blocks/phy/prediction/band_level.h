// SPDX-License-Identifier: GPL-3.0-or-later
// Estimates the level that all components of a channel share in a slot (shadowing), and separates
// it from their fading.
//
// Shadowing multiplies the whole band. A filter for Clarke's process sees it as
// an error that grows with the distance in time: at 75 km/h (4 dB, 2 m) 0.19 dB
// from slot to slot and 0.54 dB in three, as much as all its other errors. The
// power of the band does not show the level, as it fades, too; the part that the
// filters cannot predict shows it. Let l_0 be the error of the log amplitude of
// this slot, and l_1.. those of the slots before. The innovation of a component
// is
// Here x_i are its values in the slots before without their levels, w the filter's weights, x^ the
// predicted value. All components share l, and each has another x: some twenty equations for few
// unknowns, so past levels are found and corrected, too. (The part of e along x^ alone, that is,
// how much larger than expected the band is, gives one equation: NMSE 0.060 instead of 0.048 three
// slots ahead.) One or two components cannot tell a level from the filters' errors, so none is
// found on a flat channel.
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
