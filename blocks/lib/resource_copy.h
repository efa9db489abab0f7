// SPDX-License-Identifier: GPL-3.0-or-later
// Resource elements between GNU Radio's interleaved vectors and the planes of wip::phy. Copies
// only.
#pragma once

#include <complex>

#include "phy/estimation/pilot_score.h"

namespace wip {

inline constexpr int slot_elements = symbols_per_slot * nof_subcarriers;  // 3000
using phy::slot_planes;

inline void to_planes(const std::complex<float>* in, slot_planes& out) noexcept {
    for (auto& p : out)
        for (int n = 0; n < nof_subcarriers; ++n, ++in) {
            p.re[n] = in->real();
            p.im[n] = in->imag();
        }
}

inline void from_planes(const slot_planes& in, std::complex<float>* out) noexcept {
    for (const auto& p : in)
        for (int n = 0; n < nof_subcarriers; ++n) *out++ = {p.re[n], p.im[n]};
}

}  // namespace wip
