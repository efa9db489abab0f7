// SPDX-License-Identifier: GPL-3.0-or-later
// Sixteen floats at once for the inner loops, by the compiler's vector extension: one AVX-512
// register, two of AVX, four of SSE or NEON.
#pragma once

#include <cstring>

// Without AVX-512 the compiler notes how vectors would be passed between translation units; none
// is.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace wip::phy {

typedef float lanes __attribute__((vector_size(64)));
inline constexpr int nof_lanes = 16;

// By halves: four dependent additions instead of fifteen.
inline float sum_of(lanes v) noexcept {
    typedef float half __attribute__((vector_size(32)));
    typedef float quarter __attribute__((vector_size(16)));
    half h[2];
    std::memcpy(h, &v, sizeof v);
    const half s = h[0] + h[1];
    quarter q[2];
    std::memcpy(q, &s, sizeof s);
    const quarter t = q[0] + q[1];
    return (t[0] + t[2]) + (t[1] + t[3]);
}

}  // namespace wip::phy
