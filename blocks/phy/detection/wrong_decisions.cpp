// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/detection/wrong_decisions.h"

#include <array>
#include <cstddef>

#include "phy/detection/expected_errors.h"
#include "phy/math/aligned.h"
#include "phy/math/rough_exp.h"
#include "types/lanes.h"

namespace wip::phy {

namespace {

// Points in a row of the grid, by bits per symbol. The outermost points have no neighbour beyond
// them.
constexpr std::array<int, max_bits_per_symbol> points_per_row{2, 2, 0, 4, 6, 8, 12, 16};

lanes at(const float* p, int i) noexcept { return *reinterpret_cast<const lanes*>(p + i); }
lanes larger(lanes a, lanes b) noexcept { return a > b ? a : b; }
lanes size_of(lanes v) noexcept { return larger(v, -v); }

// Adds up of(i), which returns the terms of the symbols from i on. The last of the label_capacity
// values are not symbols.
template <class Of>
float sum_over_symbols(Of of) noexcept {
    lanes sum{};
    int i = 0;
    for (; i + nof_lanes <= nof_labels; i += nof_lanes) sum += of(i);
    if (i < nof_labels) {
        lanes last = of(i);
        for (int j = nof_labels - i; j < nof_lanes; ++j) last[j] = 0;
        sum += last;
    }
    return sum_of(sum);
}

}  // namespace

float wrong_decisions(const constellation& c, const soft_copy& y,
                      const label_array& labels) noexcept {
    soft_copy p;  // decided
    c.points_of(y.re.data(), y.im.data(), labels.data(), p.re.data(), p.im.data(), label_capacity);
    const float spread = sum_over_symbols([&](int i) {
        const lanes dr = at(y.re.data(), i) - at(p.re.data(), i);
        const lanes di = at(y.im.data(), i) - at(p.im.data(), i);
        return (dr * dr + di * di) * at(y.weight.data(), i);
    });
    const float per_weight = nof_labels / (spread + 1e-30F);
    if (c.bits() == 3) return expected_errors(y.weight.data(), per_weight, c.bits());
    const float unit = c.unit(),
                edge =
                    static_cast<float>(points_per_row[static_cast<std::size_t>(c.bits() - 1)] - 2);
    const auto axis = [&](const float* received, const float* point, int i) {
        const lanes v = at(received, i);
        const lanes inside = 1 - size_of(v - at(point, i)) / unit;
        const lanes outside = size_of(v) / unit - edge;
        const lanes d = larger(larger(inside, outside), lanes{});
        const lanes g = rough_exp(-4 * unit * unit * per_weight * at(y.weight.data(), i) * d);
        return g / (1 + g);
    };
    return sum_over_symbols([&](int i) {
        const lanes re = axis(y.re.data(), p.re.data(), i);
        return c.bits() == 1 ? re : re + axis(y.im.data(), p.im.data(), i);
    });
}

}  // namespace wip::phy
