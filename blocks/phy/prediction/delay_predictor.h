// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction in the delay domain: the 25 gains of the bins are taken apart into components that
// fade independently, each is predicted with a long memory by the Wiener filter that suits its SNR,
// and the bins are put together again.
//
// Components (fading_components.h): uncorrelated over the band, found while running. The start is
// the DFT over the bins, 200 ns a component.
//
// Filters (clarke_filters.h): 64 taps, for the Doppler frequency that doppler_search.h finds and
// the component's own SNR; the noise along any direction is that of the known elements.
//
// The level that all bins share (band_level.h) is taken out of the gains first and put back, as it
// will be by then, into the forecast.
//
// Where the channel is not Clarke's (a line of sight, another spectrum, more Doppler than the grid
// holds) least_squares_predictor may know better: the forecast is d + a (l - d), d this, l that,
// with the a in 0..1 that would have been best over the last 150 slots or so.
//
// A slot that was not measured is bridged with the forecast that was made for it, or the last gains
// when there is none; after 8 in a row the memory begins anew.
#pragma once

#include <vector>

#include "phy/prediction/band_level.h"
#include "phy/prediction/clarke_filters.h"
#include "phy/prediction/doppler_search.h"
#include "phy/prediction/fading_components.h"
#include "phy/prediction/gain_predictor.h"
#include "phy/prediction/least_squares_predictor.h"

namespace wip::phy {

class delay_predictor final : public gain_predictor {
public:
    explicit delay_predictor(int horizon);
    void reset() noexcept override;
    bool update(const gain_sample& now, bin_gains& ahead) noexcept override;
    void skip() noexcept override;

    double doppler_hz() const noexcept;
    double offset_hz() const noexcept;  // of the carrier, in the gains

private:
    static constexpr std::size_t order = 64;
    struct forecast {
        bool valid = false;
        bin_gains own, other;
    };
    void settle(const bin_gains& now) noexcept;
    void learn_level(const gain_sample& now) noexcept;
    gain_sample without_level(const gain_sample& now) const noexcept;

    int horizon_;
    clarke_filters filters_, next_;
    doppler_search search_;
    least_squares_predictor other_;

    fading_components<nof_bins, order> components_;
    band_level level_;
    std::array<band_level::innovation, nof_bins> innovations_;
    int skipped_ = 0;
    gain_sample last_;  // as measured

    std::vector<forecast> forecasts_;  // by target slot
    std::size_t due_ = 0;
    double between_ = 0, towards_ = 0;  // |l-d|^2 and Re conj(l-d) (h-d), due forecasts
    double mix_ = 0;
};

}  // namespace wip::phy
