// SPDX-License-Identifier: GPL-3.0-or-later
// A fading channel, seen slot by slot at `Count` points of the band, taken apart into components
// that fade independently, with the last `Depth` slots of each.
//
// A channel of few paths within some microseconds moves in a subspace of the points: strong
// components stand 10 dB further out of the noise than a single point does, weak ones are hardly
// there, and one set of weights can suit only one SNR. For a Rayleigh channel whose paths share one
// Doppler spectrum the best components are the eigenvectors of the points' covariance
// (Karhunen-Loeve): they fade independently, so each can be filtered alone without loss. The
// covariance is averaged over 1000 slots or so (the delays change slowly, whatever the speed); it
// is kept in the coordinates of the present components and made diagonal by Jacobi rotations, some
// of the pairs in each slot. A rotation also turns the history, so filters run on without a seam.
// Pairs are turned until their coherence is no more than chance in that window. So the turn is a
// continuous function of the measurement, and the last bit of a sum decides nothing. The start is
// the DFT over the points.
//
// A component is filtered by the Wiener filter of Clarke's process (clarke_filters.h) for the
// Doppler frequency that the user gives and the component's own SNR. The carrier offset that the
// user gives is taken out of the history.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <span>

#include "phy/prediction/band_level.h"
#include "phy/prediction/clarke_filters.h"

namespace wip::phy {

template <std::size_t Count, std::size_t Depth>
class fading_components {
public:
    static constexpr std::size_t padded = (Count + 15) / 16 * 16;  // whole vectors, the rest is 0
    using row = std::array<float, padded>;

    fading_components() { reset(); }
    void reset() noexcept;

    // The points of one slot go into the history.
    void store(const row& re, const row& im) noexcept;
    // The same for points whose error is `noise` (infinite: not measured) where it is `usual` most
    // of the time. What is stored is the value that would carry the same information with the usual
    // error. next: filters for one slot ahead. Returns the squared difference to what was expected
    // over its mean. With this kind of store() the components follow the level and the noise of the
    // last slots, not only their means.
    float store(const row& re, const row& im, float noise, float usual, const clarke_filters& next,
                doppler_index doppler) noexcept;
    // The innovations of the next slot's points, which are not stored yet, for each strong
    // component. noise: as in learn(). Returns how many there are; none if they are too few to tell
    // a level from the fading.
    std::size_t innovations(const row& re, const row& im, float noise, const clarke_filters& next,
                            doppler_index doppler,
                            std::span<band_level::innovation, Count> out) noexcept;
    // The factor by which the points of the next slot, not yet stored, differ from what is
    // expected; `noise` as in learn(). The prior is a level of 1, to within 1 dB, and any phase. 1
    // if the channel has too little power to tell.
    std::complex<float> growth(const row& re, const row& im, float noise,
                               const clarke_filters& next, doppler_index doppler) noexcept;
    // The last slots of the history times these factors, the newest first.
    void rescale(std::span<const float> factors) noexcept;
    // Learns from the points stored last. noise: variance of their error along any unit direction
    // in the space of the points in which the estimate is free to move.
    void learn(float noise) noexcept;
    // Another carrier offset, radians a slot: the history as if it had been known all along.
    void set_offset(double radians) noexcept;
    // The history counts as empty.
    void forget() noexcept { filled_ = 0; }
    bool full() const noexcept { return filled_ == static_cast<int>(Depth); }
    int filled() const noexcept { return filled_; }     // slots of the history, up to Depth
    int learned() const noexcept { return averaged_; }  // slots, up to those of the covariance

    // The points at the time for which `filters` (of order Taps) are made, from the last Taps
    // slots.
    template <std::size_t Taps = Depth>
    void filter(const clarke_filters& filters, doppler_index doppler, row& re,
                row& im) const noexcept;
    // Error variance of each point of that, mean of two times.
    void error(const clarke_filters& first, const clarke_filters& second, doppler_index doppler,
               row& out) const noexcept;

private:
    void project(const row& re, const row& im) noexcept;
    void advance() noexcept;
    void average() noexcept;
    void follow(float noise) noexcept;
    void classify() noexcept;
    void rotate_some() noexcept;
    // part: of the angle at which they would be uncorrelated.
    void rotate(std::size_t i, std::size_t k, double part) noexcept;
    float power_of(std::size_t i) const noexcept;  // without noise

    // Row i: component i = sum_p unitary[i][p] point[p].
    alignas(64) std::array<std::array<double, padded>, Count> unitary_re_, unitary_im_;
    alignas(64) std::array<row, Count> to_re_, to_im_;  // the same, float
    // E c_i conj(c_k), kept for k >= i. In double precision, since a component from which a strong
    // one has been removed by rotation may be 60 dB weaker than that one.
    alignas(64) std::array<std::array<double, padded>, Count> covariance_re_, covariance_im_;
    alignas(64) row component_re_{}, component_im_{};  // components of this slot
    // Newest first from start_, everything twice so that any Depth lie in one piece.
    alignas(64) std::array<std::array<float, 2 * Depth>, Count> past_re_, past_im_;
    std::size_t start_ = 0;
    double phase_ = 0, offset_ = 0;  // carrier offset taken out of what is stored
    int averaged_ = 0, filled_ = 0;
    float noise_ = 0;             // now
    float covariance_noise_ = 0;  // noise in the covariance
    bool follows_ = false;        // components follow the last slots (see the second store())
    row extra_{};                 // error variance of the last slot beyond the usual one
    alignas(64) row recent_{};    // power of the components over the last slots
    float level_ = 1;             // power of the signal now over that in the covariance
    std::array<snr_place, Count> place_{};
    std::size_t next_class_ = 0, pair_i_ = 0, pair_k_ = 1;
};

}  // namespace wip::phy
