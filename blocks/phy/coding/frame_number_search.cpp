// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/coding/frame_number_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace wip::phy {

namespace {

constexpr unsigned registers = 1U << (code_memory + 1);  // bits in the encoder, newest lowest

// Log likelihood of the sent bits of a step for every content of the encoder: each bit adds or
// subtracts half of its log likelihood ratio.
std::array<float, registers> step_metrics(std::span<const float, code_sent_bits> ordered,
                                          float scale, int step) noexcept {
    const auto n = static_cast<std::size_t>(first_sent(step));
    const bool two = first_sent(step + 1) - first_sent(step) == 2;
    const float first = scale / 2 * ordered[n];
    const float second = two ? scale / 2 * ordered[n + 1] : 0;
    std::array<float, registers> m;
    for (unsigned r = 0; r < registers; ++r)
        m[r] = (code_output(r, 0) ? -first : first) + (code_output(r, 1) ? -second : second);
    return m;
}

float log_sum(float a, float b) noexcept {
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace

frame_number_search::frame_number_search()
    : sum_(frame_number_modulus),
      now_(frame_number_modulus),
      next_(frame_number_modulus),
      behind_(registers / 2),
      before_(registers / 2) {}

void frame_number_search::reset() noexcept { std::fill(sum_.begin(), sum_.end(), 0.F); }

// Computes into before_, for each state of the encoder after the frame number, the log likelihood
// of the steps that follow (B of frame_number_search.h): the backward recursion over `ahead` steps.
void frame_number_search::look_ahead(std::span<const float, code_sent_bits> ordered,
                                     float scale) noexcept {
    std::fill(before_.begin(), before_.end(), 0.F);
    for (int step = number_bits + ahead - 1; step >= number_bits; --step) {
        std::swap(before_, behind_);
        const auto m = step_metrics(ordered, scale, step);
        for (unsigned s = 0; s < registers / 2; ++s) {
            const unsigned zero = 2 * s, one = 2 * s + 1;
            before_[s] = log_sum(m[zero] + behind_[zero % (registers / 2)],
                                 m[one] + behind_[one % (registers / 2)]);
        }
    }
}

std::optional<std::uint16_t> frame_number_search::add(
    std::span<const float, code_sent_bits> ordered, float scale, std::int64_t frames) noexcept {
    look_ahead(ordered, scale);
    next_[0] = 0;
    for (int step = 0; step < number_bits; ++step) {
        std::swap(now_, next_);
        const auto m = step_metrics(ordered, scale, step);
        for (unsigned i = 0; i < 2U << step; ++i) next_[i] = now_[i / 2] + m[i % registers];
    }
    constexpr auto mask = static_cast<unsigned>(frame_number_modulus - 1);
    const auto moved = static_cast<unsigned>(frames) & mask;
    float most = 0;
    for (unsigned i = 0; i <= mask; ++i) {
        const unsigned number = (i + moved) & mask;
        sum_[i] += next_[number] + before_[number % (registers / 2)];
        most = i == 0 ? sum_[0] : std::max(most, sum_[i]);
    }
    if (!std::isfinite(most)) {
        reset();
        return {};
    }
    unsigned best = 0;
    float second = -std::numeric_limits<float>::infinity();
    for (unsigned i = 0; i <= mask; ++i) {
        sum_[i] -= most;  // keeps its precision
        if (sum_[i] == 0)
            best = i;
        else
            second = std::max(second, sum_[i]);
    }
    if (second > -margin) return {};
    return static_cast<std::uint16_t>((best + moved) & mask);
}

}  // namespace wip::phy
