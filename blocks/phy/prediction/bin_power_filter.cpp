// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/bin_power_filter.h"

#include <cmath>
#include <limits>

namespace wip::phy {

namespace {

constexpr int known_usually = pilots_per_bin + control_symbols_per_bin;
constexpr double aperture = 0.31549;  // sqrt((8 * 1.5^2 + 4 * 2.5^2) / 12) / 6: known elements
constexpr int enough = 40;            // slots learned from
constexpr int learning = 300;         // slots until every second one is enough to learn from
constexpr int search_every = 4;
constexpr float surprise = 6;       // squared innovation over its mean from which the model fails
constexpr float largest_step = 10;  // ratio of powers: a larger one is a fade and no gain step
constexpr int longest_bridge = 1;   // slots; at 125 Hz more cannot be guessed

// False if a number or its square is not finite: it would remain in all averages.
bool is_measured(const bin_measurement& m, const band_points& points) {
    float sum = m.noise + m.gain_noise;
    for (std::size_t b = 0; b < nof_bins; ++b) sum += std::norm(m.gain[b]) + points.between[b];
    for (std::size_t p = 0; p < nof_band_points; ++p)
        sum += points.re[p] * points.re[p] + points.im[p] * points.im[p];
    return std::isfinite(sum);
}

}  // namespace

bin_power_filter::bin_power_filter()
    : next_(1, depth, aperture),
      early_(-point_slots, depth, aperture),
      late_(point_slots, depth, aperture),
      search_(search_every) {}

void bin_power_filter::reset() noexcept {
    search_.reset();
    components_.reset();
    last_ = {};
    skipped_ = 0;
    turn_ = 0;
    noise_ = 0;
    filtered_ = false;
}

void bin_power_filter::update(const bin_measurement& m, const band_points& points,
                              std::array<float, nof_bins>& power) noexcept {
    power = m.power;
    if (!is_measured(m, points)) return skip();
    for (std::size_t b = 0; b < nof_bins; ++b) {
        last_.gain.re[b] = m.gain[b].real();
        last_.gain.im[b] = m.gain[b].imag();
    }
    last_.error = m.gain_noise;
    skipped_ = 0;
    filtered_ = false;
    search_.update(last_);
    // Along a direction in the space of the points there are as many known elements as in half a
    // bin.
    const float per_element = m.noise * points_per_bin;
    const doppler_index doppler = search_.doppler();
    noise_ = per_element / known_usually;
    const bool has_history = components_.full();  // from which the expectation is computed
    const bool expected =
        components_.store(points.re, points.im, per_element / static_cast<float>(m.known), noise_,
                          next_, doppler) < surprise;
    if (m.known == known_usually && (components_.learned() < learning || ++turn_ % 2 == 0))
        components_.learn(noise_);
    if (!search_.ready() || components_.learned() < enough) return;
    components_.set_offset(search_.offset());
    if (!expected || !has_history) return;
    filtered_ = true;

    using row = fading_components<nof_band_points, depth>::row;
    alignas(64) row re, im, sum;
    components_.error(early_, late_, doppler, sum);
    for (const clarke_filters* moment : {&early_, &late_}) {
        components_.filter(*moment, doppler, re, im);
        for (std::size_t p = 0; p < sum.size(); ++p) sum[p] += (re[p] * re[p] + im[p] * im[p]) / 2;
    }
    for (std::size_t b = 0; b < nof_bins; ++b) {
        const float mean = (sum[2 * b] + sum[2 * b + 1]) / 2 + points.between[b];
        if (mean > 0) power[b] = mean;
    }
}

cf32 bin_power_filter::step(const bin_measurement& m, const band_points& points) noexcept {
    if (!search_.ready() || components_.learned() < enough || !components_.full() ||
        !is_measured(m, points))
        return 1;
    const cf32 growth = components_.growth(points.re, points.im,
                                           m.noise * points_per_bin / static_cast<float>(m.known),
                                           next_, search_.doppler());
    const float power = std::norm(growth);
    return power > 1 / largest_step && power < largest_step ? growth : 1;
}

void bin_power_filter::skip() noexcept {
    filtered_ = false;
    const fading_components<nof_band_points, depth>::row none{};
    components_.store(none, none, std::numeric_limits<float>::infinity(), noise_, next_,
                      search_.doppler());
    if (++skipped_ > longest_bridge) {
        components_.forget();
        search_.skip();
    } else {
        search_.update(last_);
    }
}

}  // namespace wip::phy
