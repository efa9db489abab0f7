// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/detection/expected_errors.h"

#include <array>
#include <cstddef>

#include "phy/math/rough_exp.h"
#include "types/lanes.h"

namespace wip::phy {

namespace {

// Half the least distance, squared, and the mean number of neighbours at it (constellation.h).
struct shape {
    float unit2, neighbours;
};
constexpr std::array<shape, max_bits_per_symbol> shapes{{{1.F, 1.F},
                                                         {1.F / 2, 2.F},
                                                         {0.2113249F, 3.F},
                                                         {1.F / 10, 3.F},
                                                         {1.F / 20, 3.25F},
                                                         {1.F / 42, 3.5F},
                                                         {1.F / 82, 3.625F},
                                                         {1.F / 170, 3.75F}}};

}  // namespace

float expected_errors(const float* snr, float scale, int bits_per_symbol) noexcept {
    const auto& s = shapes[static_cast<std::size_t>(bits_per_symbol - 1)];
    const float factor = -s.unit2 * scale;
    lanes sum{};
    int i = 0;
    const auto add = [&](lanes y) {
        const lanes v = y * factor;
        sum += rough_exp(v) / 12 + rough_exp(4.F / 3 * v) / 4;
    };
    for (; i + nof_lanes <= nof_labels; i += nof_lanes)
        add(*reinterpret_cast<const lanes*>(snr + i));
    if (i < nof_labels) {
        lanes last = *reinterpret_cast<const lanes*>(snr + i);
        for (int j = nof_labels - i; j < nof_lanes; ++j) last[j] = 1e30F;
        add(last);
    }
    return s.neighbours * sum_of(sum);
}

float clear_snr(int bits_per_symbol) noexcept {
    constexpr float y = 30;  // 108 N exp(-9) / 12 is 0.004 N
    return y / shapes[static_cast<std::size_t>(bits_per_symbol - 1)].unit2;
}

}  // namespace wip::phy
