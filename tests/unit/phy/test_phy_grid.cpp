// SPDX-License-Identifier: GPL-3.0-or-later
// Resource elements and pilots.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "phy/grid/pilots.h"
#include "phy/grid/resource_map.h"
#include "phy/sync/acquisition.h"

namespace {

using namespace wip;
using namespace wip::phy;

TEST(resource_map, divides_a_bin_into_4_pilots_8_control_and_108_payload_elements) {
    int count[3] = {};
    for (int l = 0; l < symbols_per_slot; ++l)
        for (int c = 0; c < subcarriers_per_bin; ++c) ++count[static_cast<int>(kind_of(l, c))];
    EXPECT_EQ(count[static_cast<int>(re_kind::pilot)], 4);
    EXPECT_EQ(count[static_cast<int>(re_kind::control)], 8);
    EXPECT_EQ(count[static_cast<int>(re_kind::payload)], 108);
}

TEST(resource_map, lists_every_payload_element_once_in_order_of_symbol_then_subcarrier) {
    std::set<int> seen;
    int previous = -1;
    for (const auto& e : payload_elements) {
        const int at = e.symbol * subcarriers_per_bin + e.subcarrier;
        EXPECT_GT(at, previous);
        EXPECT_EQ(kind_of(e.symbol, e.subcarrier), re_kind::payload);
        previous = at;
        seen.insert(at);
    }
    EXPECT_EQ(seen.size(), 108U);
}

TEST(resource_map, keeps_pilots_and_control_apart) {
    for (const auto& p : pilot_elements)
        for (const auto& c : control_elements)
            EXPECT_FALSE(p.symbol == c.symbol && p.subcarrier == c.subcarrier);
}

TEST(resource_map, knows_elements_every_five_subcarriers_in_symbols_1_and_4) {
    for (const int l : {1, 4})
        for (int c = 2; c < subcarriers_per_bin; c += 5)
            EXPECT_NE(kind_of(l, c), re_kind::payload) << l << " " << c;
}

TEST(pilots, have_unit_energy) {
    const pilots p(63);
    for (int s = 0; s < slots_per_frame; ++s)
        for (const auto v : p.of(s)) EXPECT_NEAR(std::norm(v), 1, 1e-6);
}

TEST(pilots, of_all_cells_and_slots_are_well_separated) {
    // The sequences are compared as in acquisition, by products of neighbours: all 1920 with those
    // of cell 0 and of their own cell.
    std::vector<pilots> cells;
    for (int c = 0; c < 64; ++c) cells.emplace_back(c);
    float worst = 0;
    for (int c = 0; c < 64; ++c)
        for (int s = 0; s < slots_per_frame; ++s)
            for (int t = 0; t < slots_per_frame; ++t)
                for (const int other : {0, c}) {
                    if (other == c && s == t) continue;
                    worst =
                        std::max(worst, score_pilots(cells[static_cast<std::size_t>(c)].of(s),
                                                     cells[static_cast<std::size_t>(other)].of(t))
                                            .magnitude);
                }
    EXPECT_LT(worst, 0.45F);  // the threshold of acquisition
    EXPECT_NEAR(score_pilots(cells[9].of(4), cells[9].of(4)).magnitude, 1, 1e-5);
}

TEST(pilots, refuse_a_cell_outside_0_to_63) {
    EXPECT_THROW(pilots(-1), std::invalid_argument);
    EXPECT_THROW(pilots(64), std::invalid_argument);
}

}  // namespace
