// SPDX-License-Identifier: GPL-3.0-or-later
// The order of a sum over lanes is that of its header, whatever the compiler makes of the loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

#include "phy/math/lane_sum.h"

namespace wip::phy {
namespace {

std::vector<float> random_values(std::size_t n, unsigned seed) {
    std::mt19937 engine(seed);
    std::vector<float> x(n);
    for (auto& v : x) v = static_cast<float>(engine()) * 0x1p-32F - 0.5F;
    return x;
}

// One addition at a time. `volatile` forbids the compiler any other order.
float in_written_order(const std::vector<float>& x) {
    volatile float lane[16] = {};
    for (std::size_t i = 0; i < x.size(); ++i) lane[i % 16] = lane[i % 16] + x[i];
    for (std::size_t half = 8; half > 0; half /= 2)
        for (std::size_t l = 0; l < half; ++l) lane[l] = lane[l] + lane[l + half];
    return lane[0];
}

TEST(LaneSum, adds_in_the_order_of_its_header_at_any_length) {
    for (std::size_t n = 0; n <= 530; ++n) {
        const auto x = random_values(n, static_cast<unsigned>(n) + 1);
        const auto sum = lane_sum(n, [&](auto at) { return lane_terms{at(x.data())}; });
        ASSERT_EQ(sum.of[0], in_written_order(x)) << n;
    }
}

TEST(LaneSum, does_not_depend_on_where_the_array_lies) {
    const auto x = random_values(500, 7);
    const float expected = in_written_order(x);
    for (std::size_t offset = 0; offset < 16; ++offset) {
        std::vector<float> moved(x.size() + offset);
        std::copy(x.begin(), x.end(), moved.begin() + static_cast<std::ptrdiff_t>(offset));
        const auto sum =
            lane_sum(x.size(), [&](auto at) { return lane_terms{at(moved.data() + offset)}; });
        EXPECT_EQ(sum.of[0], expected) << offset;
    }
}

TEST(LaneSum, keeps_sums_over_one_index_apart) {
    const auto x = random_values(77, 1), y = random_values(77, 2);
    const auto [of_x, of_y] = lane_sum(77, [&](auto at) {
                                  return lane_terms{at(x.data()), at(y.data())};
                              }).of;
    EXPECT_EQ(of_x, in_written_order(x));
    EXPECT_EQ(of_y, in_written_order(y));
}

}  // namespace
}  // namespace wip::phy
