// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/doppler_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "phy/math/lane_sum.h"

namespace wip::phy {

namespace {

constexpr float forget = 1 - 1.0F / 48;
constexpr int enough = 56;                          // slots learned from
constexpr float least_weight = 1e-3F;               // below it older sums are left out
constexpr double improvement = 0.995;               // error ratio from which a candidate takes over
constexpr double hz = 2 * std::numbers::pi / 1500;  // radians a slot
constexpr double widest_offset = 400 * hz;
constexpr unsigned sweep = 4;         // grid points that are tried in a slot, in turn
constexpr unsigned first_steps = 24;  // slots in which all f are tried at other offsets,
constexpr double first_spacing = 4;   // so many Hz apart on both sides
constexpr std::array<double, 9> offset_steps{0.25, 0.5, 1, 2, 4, 8, 16, 32, 64};

}  // namespace

doppler_search::doppler_search(int every) : every_(every), filters_(lag, order) { reset(); }

void doppler_search::reset() noexcept {
    history_.fill({});
    for (matrix* m :
         {&phi_re_, &phi_im_, &rotated_, &before_re_, &before_im_, &begin_re_, &begin_im_})
        for (auto& r : *m) r.fill(0);
    before_weight_ = begin_weight_ = 0;
    cross_re_.fill(0);
    cross_im_.fill(0);
    first_re_.fill(0);
    first_im_.fill(0);
    rotated_cross_.fill(0);
    present_ = signal_ = noise_ = 0;
    learned_ = 0;
    slots_to_wait_ = 0;
    snr_ = snr_class{clarke_filters::nof_snrs / 2};
    doppler_ = 0;
    offset_ = 0;
    ready_ = false;
}

// Adds conj(past i) past k, summed over the bins, to a sum that forgets exponentially.
void doppler_search::product(unsigned i, unsigned k, float& re, float& im) const noexcept {
    const auto& a = history_[(now_ - i) % 32];
    const auto& b = history_[(now_ - k) % 32];
    const auto [sum_re, sum_im] = lane_sum(bin_gains::padded, [&](auto at) {
                                      const auto ar = at(a.re.data()), ai = at(a.im.data());
                                      const auto br = at(b.re.data()), bi = at(b.im.data());
                                      return lane_terms{ar * br + ai * bi, ar * bi - ai * br};
                                  }).of;
    re = forget * re + sum_re;
    im = forget * im + sum_im;
}

// The history is complete again after missing slots. The step along the diagonal is valid only for
// sums over consecutive slots, so the sums from before the gap are kept separately from now on. The
// first slot after it has no predecessor: its products are added along the diagonals.
void doppler_search::begin_segment() noexcept {
    for (std::size_t i = 0; i < order; ++i) {
        for (std::size_t k = 0; k < padded; ++k) {
            before_re_[i][k] = phi_re_[i][k] + before_weight_ * before_re_[i][k];
            before_im_[i][k] = phi_im_[i][k] + before_weight_ * before_im_[i][k];
        }
        phi_re_[i].fill(0);
        phi_im_[i].fill(0);
        begin_re_[i].fill(0);
        begin_im_[i].fill(0);
    }
    before_weight_ = 1;
    first_re_.fill(0);
    first_im_.fill(0);
    for (unsigned i = 1; i < order; ++i)
        for (unsigned k = 1; k < order; ++k)
            product(lag + i, lag + k, begin_re_[i][k], begin_im_[i][k]);
    begin_weight_ = 1 / forget;
}

// A step along the diagonal is exact because the past before the first slot is zero.
void doppler_search::learn(const bin_gains& now) noexcept {
    for (std::size_t i = order - 1; i > 0; --i) {
        std::memcpy(&phi_re_[i][1], phi_re_[i - 1].data(), (order - 1) * sizeof(float));
        std::memcpy(&phi_im_[i][1], phi_im_[i - 1].data(), (order - 1) * sizeof(float));
    }
    for (unsigned i = 0; i < order; ++i) {
        product(lag + i, 0, cross_re_[i], cross_im_[i]);
        product(lag + i, lag, first_re_[i], first_im_[i]);
        phi_re_[i][0] = first_re_[i];
        phi_im_[i][0] = first_im_[i];
        phi_re_[0][i] = first_re_[i];
        phi_im_[0][i] = -first_im_[i];
    }
    before_weight_ *= forget;
    begin_weight_ *= forget;
    if (begin_weight_ > least_weight)
        for (std::size_t i = 1; i < order; ++i)
            for (std::size_t k = 1; k < order; ++k) {
                phi_re_[i][k] += begin_weight_ * begin_re_[i][k];
                phi_im_[i][k] += begin_weight_ * begin_im_[i][k];
            }
    present_ = static_cast<double>(forget) * present_ + static_cast<double>(power_of(now));
}

void doppler_search::rotate(double radians) noexcept {
    // e^(j radians d) for d = -(order-1) .. order-1, zero beyond.
    std::array<float, 2 * padded> c{}, s{};
    double re = 1, im = 0;
    const double step_re = std::cos(radians), step_im = std::sin(radians);
    std::array<float, reach> cross_c, cross_s;
    for (std::size_t d = 0; d < reach; ++d) {
        cross_c[d] = static_cast<float>(re);
        cross_s[d] = static_cast<float>(im);
        if (d < order) {
            c[order - 1 + d] = c[order - 1 - d] = static_cast<float>(re);
            s[order - 1 + d] = static_cast<float>(im);
            s[order - 1 - d] = -static_cast<float>(im);
        }
        const double next = re * step_re - im * step_im;
        im = re * step_im + im * step_re;
        re = next;
    }
    for (std::size_t i = 0; i < order; ++i) {
        const float* ci = c.data() + (order - 1 - i);
        const float* si = s.data() + (order - 1 - i);
        for (std::size_t k = 0; k < padded; ++k)
            rotated_[i][k] = phi_re_[i][k] * ci[k] - phi_im_[i][k] * si[k];
        if (before_weight_ > least_weight)
            for (std::size_t k = 0; k < padded; ++k)
                rotated_[i][k] +=
                    before_weight_ * (before_re_[i][k] * ci[k] - before_im_[i][k] * si[k]);
        rotated_cross_[i] = cross_re_[i] * cross_c[lag + i] + cross_im_[i] * cross_s[lag + i];
    }
}

double doppler_search::error_of(doppler_index doppler) const noexcept {
    const float* w = filters_.weights(doppler, snr_);
    alignas(64) std::array<float, padded> v{};
    for (std::size_t i = 0; i < order; ++i)
        for (std::size_t k = 0; k < padded; ++k) v[k] += w[i] * rotated_[i][k];
    const float sum = lane_sum(padded, [&](auto at) {
                          return lane_terms{at(w) * (at(v.data()) - 2 * at(rotated_cross_.data()))};
                      }).of[0];
    return present_ + static_cast<double>(sum);
}

void doppler_search::start() noexcept {
    offset_ = std::atan2(static_cast<double>(first_im_[1] + before_weight_ * before_im_[1][0]),
                         static_cast<double>(first_re_[1] + before_weight_ * before_re_[1][0]));
    offset_ = std::clamp(offset_, -widest_offset, widest_offset);
    offset_at_start_ = offset_;
    step_ = 0;
    rotate(offset_);
    double best = error_of(doppler_index{0});
    doppler_ = 0;
    for (int d = 1; d < nof_dopplers; ++d)
        if (const double e = error_of(doppler_index{d}); e < best) {
            best = e;
            doppler_ = d;
        }
    ready_ = true;
}

void doppler_search::search() noexcept {
    ++step_;
    rotate(offset_);
    const int before = doppler_;
    double best = error_of(doppler_index{before});
    const auto consider = [&](int d, double offset) {
        if (d < 0 || d >= nof_dopplers) return;
        const double e = error_of(doppler_index{d});
        if (e < improvement * best) {
            best = e;
            doppler_ = d;
            offset_ = offset;
        }
    };
    for (const int d : {-3, -2, -1, 1, 2, 3}) consider(before + d, offset_);
    for (unsigned n = 0; n < sweep; ++n)
        consider(static_cast<int>((step_ * sweep + n) % nof_dopplers), offset_);
    const double side = step_ % 2 == 0 ? hz : -hz;
    if (step_ <= first_steps) {
        const double other = offset_at_start_ + side * first_spacing * (step_ + 1) / 2;
        rotate(other);
        for (int d = 0; d < nof_dopplers; ++d) consider(d, other);
    } else {
        const double other = offset_ + side * offset_steps[step_ / 2 % offset_steps.size()];
        if (std::abs(other) > widest_offset) return;
        rotate(other);
        const int middle = doppler_;
        for (const int d : {-1, 0, 1}) consider(middle + d, other);
    }
}

void doppler_search::update(const gain_sample& now) noexcept {
    history_[++now_ % 32] = now.gain;
    if (slots_to_wait_ > 0) {
        if (--slots_to_wait_ > 0) return;
        begin_segment();
    }
    learn(now.gain);
    double power = 0;
    for (std::size_t n = 0; n < bin_gains::padded; ++n)
        power +=
            static_cast<double>(now.gain.re[n] * now.gain.re[n] + now.gain.im[n] * now.gain.im[n]);
    const double weight = std::max(1.0 / static_cast<double>(learned_ + 1), 1.0 / 256);
    signal_ += weight * (power / nof_bins - signal_);
    noise_ += weight * (static_cast<double>(now.error) - noise_);
    ++learned_;
    if (learned_ < enough) return;
    if (learned_ % 32 == 0)
        snr_ = clarke_filters::class_of(
            static_cast<float>(std::max(signal_ - noise_, 0.0) / (noise_ + 1e-30)));
    if (!ready_)
        start();
    else if (step_ <= first_steps || learned_ % every_ == 0)
        search();
}

}  // namespace wip::phy
