// SPDX-License-Identifier: GPL-3.0-or-later
// One vector register of floats for the inner loops of receiver and channel models, by the
// compiler's vector extension: as many as the processor that is compiled for has, so that the sums
// of a loop stay in registers. What the widths differ by is the order of sums
// (tests/unit/phy/test_widths.py); what is computed element by element is alike at any width.
#pragma once

#include <cstring>

namespace wip {

#if defined(__AVX512F__)
inline constexpr int nof_lanes = 16;
#elif defined(__AVX__)
inline constexpr int nof_lanes = 8;
#else
inline constexpr int nof_lanes = 4;
#endif
typedef float lanes __attribute__((vector_size(nof_lanes * sizeof(float))));

// The sum of the lanes by halves: two dependent additions for four lanes, one more for each
// doubling.
template <int Lanes = nof_lanes, class Vector = lanes>
float sum_of(Vector v) noexcept {
    if constexpr (Lanes == 4) {
        return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
        typedef float half __attribute__((vector_size(Lanes / 2 * sizeof(float))));
        half h[2];
        std::memcpy(h, &v, sizeof v);
        return sum_of<Lanes / 2, half>(h[0] + h[1]);
    }
}

}  // namespace wip
