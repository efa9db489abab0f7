// SPDX-License-Identifier: GPL-3.0-or-later
// Prediction in the delay domain: the 25 gains of the bins are taken apart into components that
// fade independently, each is predicted with a long memory by the Wiener filter that suits its SNR,
// and the bins are put together again.
//
// Components. A channel of few paths within some microseconds moves in a subspace of the 25 gains:
// strong components stand 10 dB further out of the noise than a single bin does, weak ones are
// hardly there, and one set of weights can suit only one SNR. For a Rayleigh channel whose paths
// share one Doppler spectrum the best components are the eigenvectors of the bins' covariance
// (Karhunen-Loeve): they fade independently, so each can be predicted alone without loss. The
// covariance is averaged over 1000 slots or so (the delays change slowly, whatever the speed);
// it is kept in the coordinates of the present components and made diagonal by Jacobi rotations,
// a few in each slot. A rotation also turns the history, so filters run on without a seam. Pairs
// whose coherence is no more than chance in that window are left alone. The start is the DFT over
// the bins, 200 ns a component.
//
// Filters (clarke_filters.h): 64 taps, for the Doppler frequency that doppler_search.h finds and
// the component's own SNR; the noise along any direction is that of the known elements.
//
// Where the channel is not Clarke's (a line of sight, another spectrum, more Doppler than the grid
// holds) least_squares_predictor may know better: the forecast is d + a (l - d), d this, l that,
// with the a in 0..1 that would have been best over the last 150 slots or so.
//
// A slot that was not measured is bridged with the forecast that was made for it, or the last gains
// when there is none; after 8 in a row the memory begins anew.
#pragma once

#include <vector>

#include "phy/clarke_filters.h"
#include "phy/doppler_search.h"
#include "phy/gain_predictor.h"
#include "phy/least_squares_predictor.h"

namespace wip::phy {

class delay_predictor final : public gain_predictor {
public:
    explicit delay_predictor(int horizon);
    void reset() noexcept override;
    bool update(const gain_sample& now, bin_gains& ahead) noexcept override;
    void skip() noexcept override;

    double doppler_hz() const noexcept;
    double offset_hz() const noexcept;  // of the carrier, in the gains
    double mixed() const noexcept { return mix_; }

private:
    static constexpr std::size_t order = 64, ring = 64;
    using row = std::array<float, bin_gains::padded>;
    struct forecast {
        bool valid = false;
        bin_gains own, other;
    };
    void project(const bin_gains& now) noexcept;
    void store() noexcept;
    void retune() noexcept;
    void average() noexcept;
    void rotate_some() noexcept;
    void rotate(std::size_t i, std::size_t k) noexcept;
    void classify(float direction_error) noexcept;
    void predict(bin_gains& ahead) const noexcept;
    void settle(const bin_gains& now) noexcept;

    int horizon_;
    clarke_filters filters_;
    doppler_search search_;
    least_squares_predictor other_;

    // Row i: component i = sum_b unitary[i][b] gain[b].
    alignas(64) std::array<std::array<double, bin_gains::padded>, nof_bins> unitary_re_,
        unitary_im_;
    alignas(64) std::array<row, nof_bins> to_re_, to_im_;                  // the same, float
    alignas(64) std::array<row, nof_bins> covariance_re_, covariance_im_;  // E c_i conj(c_k)
    alignas(64) row component_re_{}, component_im_{};                      // of this slot
    // Newest first from ring_start_, everything twice so that any `order` lie in one piece.
    alignas(64) std::array<std::array<float, 2 * ring>, nof_bins> past_re_, past_im_;
    std::size_t ring_start_ = 0;
    double phase_ = 0, offset_ = 0;  // carrier offset taken out of what is stored
    int averaged_ = 0, filled_ = 0, skipped_ = 0;
    gain_sample last_;
    float noise_ = 0;
    std::array<int, nof_bins> class_{};  // of the SNR; -1: nothing there
    std::size_t next_class_ = 0, pair_i_ = 0, pair_k_ = 1;

    std::vector<forecast> forecasts_;  // by target slot
    std::size_t due_ = 0;
    double between_ = 0, towards_ = 0;  // |l-d|^2 and Re conj(l-d) (h-d), due forecasts
    double mix_ = 0;
};

}  // namespace wip::phy
