// SPDX-License-Identifier: GPL-3.0-or-later
// One of the 25 bins of a slot. It is compared and picks an element of a list that has one for each
// bin; no arithmetic, and neither a modulation nor a user passes for it. Loops over all bins count
// with a plain integer: the type stands where a bin crosses a function or is kept.
#pragma once

#include <cassert>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "types/grid.h"

namespace wip {

class bin_index {
public:
    constexpr bin_index() = default;
    template <std::integral Integer>
    constexpr explicit bin_index(Integer n) : n_(static_cast<std::uint8_t>(n)) {
        assert(std::cmp_greater_equal(n, 0) && std::cmp_less(n, nof_bins));
    }
    constexpr std::size_t n() const { return n_; }
    // In sets of bins, bit b is bin b.
    constexpr std::uint32_t bit() const { return 1U << n_; }
    constexpr bool in(std::uint32_t set) const { return (set >> n_ & 1U) != 0; }
    constexpr auto operator<=>(const bin_index&) const = default;

private:
    std::uint8_t n_ = 0;
};
static_assert(sizeof(bin_index) == 1);

}  // namespace wip
