// SPDX-License-Identifier: GPL-3.0-or-later
// Mean power of every bin in this slot, from the channel of this slot and of those before.
//
// In one slot the channel is measured at 300 elements. The error of that is small for a strong bin,
// but in a bin 12 dB below the others it is most of the error of the measured SNR. The slots before
// say more: which shapes over the band this channel takes (as many as it has delays, half as many
// as the estimator has to allow for), and at 125 Hz of Doppler still half as much again about the
// value now.
//
// The band is seen at two points of each bin, the nodes of Gauss' quadrature: the mean of their
// powers is that of the bin for whatever varies within it up to the third order. They are taken
// apart into components (fading_components.h), each filtered with 16 slots for Clarke's process at
// the Doppler frequency that doppler_search.h finds, at two moments within the slot, again Gauss'
// nodes. To the mean power of these four estimates comes what they are known to miss (E|h|^2 is
// |h^|^2 and the error variance), and what of this slot's own estimate lies between the points.
//
// Causal: the slot itself is the last one used. A slot without a grant, measured by its pilots
// only, and one that was not measured are weighted accordingly. Until the filter has seen enough,
// and for a slot far from what was expected (a blackout, a path that appears), the power is that of
// this slot alone.
#pragma once

#include <array>

#include "phy/prediction/clarke_filters.h"
#include "phy/prediction/doppler_search.h"
#include "phy/prediction/fading_components.h"
#include "phy/prediction/snr_predictor.h"

namespace wip::phy {

inline constexpr std::size_t points_per_bin = 2;
inline constexpr std::size_t nof_band_points = points_per_bin * nof_bins;
// Gauss' nodes of 20 subcarriers and of a slot's six symbols, from the middle of both.
inline constexpr double point_subcarriers = 5.7663;  // sqrt((20^2 - 1) / 12)
inline constexpr double point_slots = 0.28464;       // sqrt((6^2 - 1) / 12) / 6

// The channel in the middle of a slot, with the steps of the tracking loops taken out.
struct band_points {
    fading_components<nof_band_points, 16>::row re{}, im{};
    // Mean |h|^2 over the subcarriers of the bin, less that of its points.
    std::array<float, nof_bins> between{};
};

class bin_power_filter {
public:
    bin_power_filter();
    void reset() noexcept;

    // Takes the measurement of one slot by itself, and writes the mean power of each bin, in units
    // of m.power.
    void update(const bin_measurement& m, const band_points& points,
                std::array<float, nof_bins>& power) noexcept;
    // Advances by a slot that could not be measured.
    void skip() noexcept;
    // A radio that is set to another gain does not do so exactly: its level differs a little, and
    // its phase may be any. Returns the factor by which the slot that update() gets next is larger
    // than expected from the slots before; 1 if they are no basis for that.
    cf32 step(const bin_measurement& m, const band_points& points) noexcept;

    // Whether the last update() was filtered.
    bool filtered() const noexcept { return filtered_; }

private:
    static constexpr std::size_t depth = 16;
    clarke_filters next_, early_, late_;
    doppler_search search_;
    fading_components<nof_band_points, depth> components_;
    gain_sample last_;
    int skipped_ = 0;
    unsigned turn_ = 0;
    float noise_ = 0;  // error variance along a direction, in a slot with a grant
    bool filtered_ = false;
};

}  // namespace wip::phy
