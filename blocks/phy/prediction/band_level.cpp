// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/prediction/band_level.h"

#include <algorithm>
#include <cmath>

#include "types/multiply_add.h"

namespace wip::phy {

namespace {

// Prior of the level, per slot and in nepers. Shadowing of 4 dB with a correlation length of 2 m at
// 75 km/h has a scale of about 1.
constexpr float keep_slope = 0.6F, keep_level = 0.95F;
constexpr float slope_variance = 2.56e-4F, level_variance = 6.4e-5F;
constexpr float increment_variance =
    level_variance + slope_variance / (1 - keep_slope * keep_slope);
constexpr float scale_at_start = 0.05F, least_scale = 1e-4F, largest_scale = 4;
constexpr int known_from_both_sides = 6;  // slots before this one
constexpr float scale_pace = 0.007F;      // pace of the scale: 140 slots
constexpr float least_change = 1.5F;      // mean squared increment that does not shrink the scale
constexpr float largest_ratio = 5;        // squared increment over its mean
// Error variance of the filters relative to the one that they assume. It is larger because they are
// made for steps of Doppler and SNR, and because the channel may not be Clarke's.
constexpr float least_model_error = 1.2F, largest_model_error = 100;
constexpr float model_error_pace = 0.01F;
constexpr float largest_correction = 0.3F;

static_assert(band_level::size % nof_lanes == 0);
constexpr std::size_t nof_vectors = band_level::size / nof_lanes;
lanes* vectors_of(band_level::row& r) noexcept { return reinterpret_cast<lanes*>(r.data()); }
const lanes* vectors_of(const band_level::row& r) noexcept {
    return reinterpret_cast<const lanes*>(r.data());
}

}  // namespace

void band_level::reset() noexcept {
    state_.fill(0);
    for (auto& r : covariance_) r.fill(0);
    scale_ = scale_at_start;
    model_error_ = least_model_error;
}

// b' = 0.6 b, l_0' = 0.95 l_0 + b, l_i' = l_(i-1).
void band_level::advance() noexcept {
    const auto step = [](const row& from) {
        row to;
        to[0] = keep_slope * from[0];
        to[1] = keep_level * from[1] + from[0];
        std::copy(from.begin() + 1, from.end() - 1, to.begin() + 2);
        return to;
    };
    state_ = step(state_);
    for (auto& r : covariance_) r = step(r);
    const row slope = covariance_[0], level = covariance_[1];
    std::copy_backward(covariance_.begin() + 1, covariance_.end() - 1, covariance_.end());
    for (std::size_t i = 0; i < size; ++i) {
        covariance_[0][i] = keep_slope * slope[i];
        covariance_[1][i] = keep_level * level[i] + slope[i];
    }
    covariance_[0][0] += scale_ * slope_variance;
    covariance_[1][1] += scale_ * level_variance;
}

std::array<float, band_level::lags> band_level::learn(
    std::span<const innovation> components) noexcept {
    alignas(vector_alignment) row change{};
    auto* const changes = vectors_of(change);
    float squared_innovations = 0;
    const auto equation = [&](const row& to, float value, float variance) {
        const auto* by = vectors_of(to);
        std::array<lanes, nof_vectors> gain{};
        for (std::size_t k = 0; k < size; ++k)
            for (std::size_t v = 0; v < nof_vectors; ++v)
                gain[v] = multiply_add(vectors_of(covariance_[k])[v], to[k], gain[v]);
        lanes of_gain{}, of_change{};
        for (std::size_t v = 0; v < nof_vectors; ++v) {
            of_gain = multiply_add(by[v], gain[v], of_gain);
            of_change = multiply_add(by[v], changes[v], of_change);
        }
        const float all = variance + sum_of(of_gain);
        if (!(all > 0.5F * variance) || !std::isfinite(all)) return;  // lost in rounding errors
        const float inverse = 1 / all;
        const float rest = value - sum_of(of_change);
        squared_innovations += rest * rest * inverse;
        for (std::size_t v = 0; v < nof_vectors; ++v)
            changes[v] = multiply_add(gain[v], rest * inverse, changes[v]);
        alignas(vector_alignment) row part;
        for (std::size_t v = 0; v < nof_vectors; ++v) vectors_of(part)[v] = gain[v] * inverse;
        for (std::size_t k = 0; k < size; ++k)
            for (std::size_t v = 0; v < nof_vectors; ++v)
                vectors_of(covariance_[k])[v] =
                    multiply_add(gain[v], -part[k], vectors_of(covariance_[k])[v]);
    };
    for (const auto& c : components) {
        const float variance = model_error_ * c.variance / 2;  // of the real or the imaginary part
        equation(c.to_re, c.re, variance);
        equation(c.to_im, c.im, variance);
    }
    if (!components.empty()) {
        const float ratio = std::min(
            squared_innovations / static_cast<float>(2 * components.size()), largest_ratio);
        model_error_ = std::clamp(model_error_ * std::exp(model_error_pace * (ratio - 1)),
                                  least_model_error, largest_model_error);
    }
    std::array<float, lags> factors;
    for (std::size_t i = 0; i < size; ++i) {
        change[i] = std::isfinite(change[i])
                        ? std::clamp(change[i], -largest_correction, largest_correction)
                        : 0;
        state_[i] += change[i];
    }
    for (std::size_t i = 0; i < lags; ++i) {  // e^-x, x at most 0.3: to 2e-5
        const float x = change[i + 2];
        factors[i] = 1 - x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));
    }
    adapt();
    return factors;
}

void band_level::adapt() noexcept {
    constexpr std::size_t i = 1 + known_from_both_sides;
    const float increment = state_[i] - state_[i + 1];
    const float unknown = covariance_[i][i] + covariance_[i + 1][i + 1] - 2 * covariance_[i][i + 1];
    const float expected = least_change * (scale_ * increment_variance - unknown);
    if (!(expected > 0)) return;
    const float ratio = std::min(increment * increment / expected, largest_ratio);
    scale_ = std::clamp(scale_ * std::exp(scale_pace * (ratio - 1)), least_scale, largest_scale);
}

float band_level::amplitude() const noexcept { return std::exp(state_[1]); }

float band_level::amplitude_ahead(int slots) const noexcept {
    float level = state_[1], slope = state_[0];
    for (int n = 0; n < slots; ++n) {
        level += slope;
        slope *= keep_slope;
    }
    return std::exp(level);
}

}  // namespace wip::phy
