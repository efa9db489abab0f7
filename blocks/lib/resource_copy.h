// SPDX-License-Identifier: GPL-3.0-or-later
// Resource elements between GNU Radio's interleaved vectors and the planes of wip::phy, and known
// elements picked out of a slot. Copies only.
#pragma once

#include <array>
#include <complex>

#include "phy/aligned.h"
#include "phy/resource_map.h"

namespace wip {

inline constexpr int slot_elements = symbols_per_slot * nof_subcarriers;  // 3000
using slot_planes = std::array<phy::plane, symbols_per_slot>;

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

inline std::array<std::complex<float>, phy::nof_pilots> pilots_of(const slot_planes& y) noexcept {
    std::array<std::complex<float>, phy::nof_pilots> out;
    for (std::size_t p = 0; p < out.size(); ++p) {
        const auto& e = phy::pilot_elements[p % pilots_per_bin];
        const auto& row = y[static_cast<std::size_t>(e.symbol)];
        const std::size_t n =
            p / pilots_per_bin * subcarriers_per_bin + static_cast<std::size_t>(e.subcarrier);
        out[p] = {row.re[n], row.im[n]};
    }
    return out;
}

}  // namespace wip
