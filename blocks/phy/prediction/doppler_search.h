// SPDX-License-Identifier: GPL-3.0-or-later
// Doppler frequency f and residual carrier offset f0 of the channel, from the gains of the bins.
//
// Every pair (f, f0) stands for a prediction filter: the Wiener weights of Clarke's process, turned
// by f0, w_i = W_i(f) exp(j t (lag + i)), t = 2 pi f0 T, lag 2, 24 taps. The pair whose filter has
// predicted best over the last 50 slots or so is the estimate. That error needs no run of the
// filter: with the correlations Phi of [h[j-lag], h[j-lag-1], ..] with themselves and phi with
// h[j], pooled over the bins and forgotten exponentially, it is
//     E(f, f0) = P - 2 sum_i W_i Re(phi_i e^-jt(lag+i)) + sum_ik W_i W_k Re(Phi_ik e^jt(k-i)),
// so a candidate is tried on the whole window at once. Phi turned by one f0 serves all f; a
// quadratic form of 24 x 24 for each of them.
//
// Search: at the start f0 from the phase of the first lag (which is out by the mean Doppler of the
// few fades seen) and all f, in the next slots all f for f0 up to 48 Hz away; from then on in each
// slot the neighbours of f, some of the whole grid in turn, and one f0 at a distance of 0.25 to
// 64 Hz. A candidate takes over when it is better by 0.5 %. On typical urban the error of both is
// about 1 Hz. f too low costs much (what lies outside the band cannot be predicted), so E is steep
// there.
#pragma once

#include <array>
#include <cstdint>

#include "phy/prediction/clarke_filters.h"
#include "phy/prediction/gain_predictor.h"

namespace wip::phy {

class doppler_search {
public:
    // every: once the first search is over, candidates are tried in every so many slots.
    explicit doppler_search(int every = 1);
    void reset() noexcept;
    // Takes the gains of one slot; for a slot that was not measured, those that were predicted for
    // it.
    void update(const gain_sample& now) noexcept;
    // Advances by a slot that was neither measured nor predicted; nothing is learned until all
    // slots in the past of one are known again.
    void skip() noexcept { slots_to_wait_ = reach; }

    bool ready() const noexcept { return ready_; }
    doppler_index doppler() const noexcept { return doppler_index{doppler_}; }
    double offset() const noexcept { return offset_; }  // 2 pi f0 T, radians a slot

private:
    static constexpr int order = 24, lag = 2, padded = 32, reach = order + lag;
    void product(unsigned i, unsigned k, float& re, float& im) const noexcept;
    void begin_segment() noexcept;
    void learn(const bin_gains& now) noexcept;
    void rotate(double radians) noexcept;                   // fills rotated_ and rotated_cross_
    double error_of(doppler_index doppler) const noexcept;  // at the offset of turn()
    void search() noexcept;
    void start() noexcept;

    int every_;
    clarke_filters filters_;
    std::array<bin_gains, 32> history_;
    unsigned now_ = 0;
    using matrix = std::array<std::array<float, padded>, order>;
    alignas(64) matrix phi_re_, phi_im_, rotated_;
    // Phi from before slots that are missing, and the products of the first slot after them.
    alignas(64) matrix before_re_, before_im_, begin_re_, begin_im_;
    float before_weight_ = 0, begin_weight_ = 0;
    alignas(64) std::array<float, padded> cross_re_, cross_im_, first_re_, first_im_,
        rotated_cross_;
    double present_ = 0;             // pooled |h[j]|^2
    double signal_ = 0, noise_ = 0;  // mean power of a gain and of its error
    std::int64_t learned_ = 0;       // slots
    int slots_to_wait_ = 0;          // until the history is complete
    snr_class snr_{};
    unsigned step_ = 0;
    int doppler_ = 0;
    double offset_ = 0, offset_at_start_ = 0;
    bool ready_ = false;
};

}  // namespace wip::phy
