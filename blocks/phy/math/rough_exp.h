// SPDX-License-Identifier: GPL-3.0-or-later
// exp(v) for v <= 0 to 4 %: the bits of 2^x are a straight line between powers of two.
#pragma once

#include <bit>
#include <cstdint>

#include "types/lanes.h"

namespace wip::phy {

typedef std::int32_t whole_lanes __attribute__((vector_size(nof_lanes * sizeof(std::int32_t))));

inline lanes rough_exp(lanes v) noexcept {
    v = v < -80.F ? v - v - 80.F : v;
    const lanes bits = v * 12102203.2F + 1064986823.F;
    return std::bit_cast<lanes>(__builtin_convertvector(bits, whole_lanes));
}

}  // namespace wip::phy
