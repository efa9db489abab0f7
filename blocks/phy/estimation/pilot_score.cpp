// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/estimation/pilot_score.h"

#include <cmath>
#include <numbers>

#include "phy/math/lane_sum.h"

namespace wip::phy {

pilot_row pilots_of(const slot_planes& y) noexcept {
    pilot_row out;
    for (std::size_t p = 0; p < out.size(); ++p) {
        const auto& e = pilot_elements[p % pilots_per_bin];
        const auto& row = y[static_cast<std::size_t>(e.symbol)];
        const std::size_t n =
            p / pilots_per_bin * subcarriers_per_bin + static_cast<std::size_t>(e.subcarrier);
        out[p] = {row.re[n], row.im[n]};
    }
    return out;
}

pilot_products products_of(const pilot_row& v) noexcept {
    pilot_products out;
    std::size_t n = 0;
    for (const bool second : {false, true})
        for (std::size_t i = 0; i + 1 < pilots_per_symbol; ++i)
            out[n++] = std::conj(v[pilot_index(i, second)]) * v[pilot_index(i + 1, second)];
    return out;
}

using pilot_floats = std::array<float, std::tuple_size_v<pilot_products>>;

pilot_score score_pilots(const pilot_row& received, const pilot_row& sent, cf32 expected) noexcept {
    const auto p = products_of(received);
    const auto c = products_of(sent);
    pilot_floats re, im, square, root;
    for (std::size_t i = 0; i < p.size(); ++i) {
        const cf32 aligned = p[i] * std::conj(c[i]);
        re[i] = aligned.real();
        im[i] = aligned.imag();
        square[i] = std::norm(p[i]);
        root[i] = std::sqrt(square[i]);
    }
    const auto [sum_re, sum_im, energy, magnitude] =
        lane_sum(p.size(), [&](auto at) {
            return lane_terms{at(re.data()), at(im.data()), at(square.data()), at(root.data())};
        }).of;
    if (!(magnitude > 0) || !std::isfinite(energy) || !(energy > 0)) return {};
    const cf32 d = expected == cf32() ? 1 : expected / std::abs(expected);
    const float along = sum_re * d.real() + sum_im * d.imag();
    return {std::hypot(sum_re, sum_im) / magnitude,
            std::numbers::sqrt2_v<float> * along / std::sqrt(energy),
            cf32(sum_re, sum_im) / magnitude};
}

}  // namespace wip::phy
