// SPDX-License-Identifier: GPL-3.0-or-later
// Sums over arrays of floats in an order that is written down, so that no compiler chooses one.
//
// Term i is added to lane i mod 16, each lane from its first term to its last; then the upper half
// of the lanes is added to the lower half until one is left. The sum of given terms is therefore
// the same at any width of the registers, any alignment and with any compiler. The receiver is
// compiled so that none fuses a product with an addition by itself (types/multiply_add.h).
//
//     const auto [re, im] = lane_sum(n, [&](auto at) {
//         const auto a = at(x), b = at(y);   // some neighbours at once, or one value of the tail
//         return lane_terms{a * b, a + b};
//     }).of;
#pragma once

#include <cstddef>
#include <cstring>

#include "types/lanes.h"

namespace wip::phy {

// The terms of some sums that run over the same index, or these sums.
template <class T, std::size_t N>
struct lane_terms {
    T of[N];
};
template <class T, class... Rest>
lane_terms(T, Rest...) -> lane_terms<T, 1 + sizeof...(Rest)>;

namespace detail {

// at(x): the values of array x from index i on.
struct register_at {
    std::size_t i;
    lanes operator()(const float* x) const noexcept {
        lanes v;
        std::memcpy(&v, x + i, sizeof v);
        return v;
    }
};
inline void put(float* x, lanes v) noexcept { std::memcpy(x, &v, sizeof v); }
struct value_at {
    std::size_t i;
    float operator()(const float* x) const noexcept { return x[i]; }
};

}  // namespace detail

// lane_sum(N, TERMS): the sums over i = 0 ... N-1 of TERMS(at), where at(x) stands for x[i].
template <class Terms>
[[gnu::always_inline]] inline auto lane_sum(std::size_t n, const Terms& terms) noexcept {
    using sums = decltype(terms(detail::value_at{0}));
    constexpr std::size_t count = sizeof(sums) / sizeof(float), width = nof_lanes, together = 16,
                          parts = together / width;
    static_assert(parts == 1 || parts == 2 || parts == 4);
    lanes sum[count][parts];
    for (auto& one : sum)
        for (auto& part : one) part = lanes{};
    std::size_t i = 0;
    for (; i + together <= n; i += together)
        for (std::size_t p = 0; p < parts; ++p) {
            const auto term = terms(detail::register_at{i + p * width});
            for (std::size_t s = 0; s < count; ++s) sum[s][p] += term.of[s];
        }
    if (i < n) {
        float lane[count][together];
        for (std::size_t s = 0; s < count; ++s)
            for (std::size_t p = 0; p < parts; ++p) detail::put(lane[s] + p * width, sum[s][p]);
        // The bound is always met; without it GCC 12 takes the loop for an endless one.
        const std::size_t left = n - i < together ? n - i : together - 1;
        for (std::size_t l = 0; l < left; ++l) {
            const sums term = terms(detail::value_at{i + l});
            for (std::size_t s = 0; s < count; ++s) lane[s][l] += term.of[s];
        }
        for (std::size_t s = 0; s < count; ++s)
            for (std::size_t p = 0; p < parts; ++p)
                sum[s][p] = detail::register_at{p * width}(lane[s]);
    }
    sums out;
    for (std::size_t s = 0; s < count; ++s) {
        for (std::size_t half = parts / 2; half > 0; half /= 2)
            for (std::size_t p = 0; p < half; ++p) sum[s][p] += sum[s][p + half];
        out.of[s] = sum_of(sum[s][0]);
    }
    return out;
}

}  // namespace wip::phy
