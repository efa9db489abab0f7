// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "link/retransmission_planner.h"

namespace wip {
namespace {

constexpr auto radio = link_profile::radio;  // 27 k - 6 nibbles: 21, 48, 75, 102 ...

arq_unit whole(frame_sn sn, int k) {
    return {sn, 0, static_cast<std::uint8_t>(frame_payload_nibbles(radio, k)),
            static_cast<std::uint8_t>(k), 0};
}
std::vector<rated_bin> rated(std::initializer_list<int> rates) {
    std::vector<rated_bin> bins;
    for (const int r : rates)
        bins.push_back({bin_index(bins.size()), static_cast<std::uint8_t>(r)});
    return bins;
}

TEST(RetransmissionPlanner, AUnitKeepsItsModulationInTheLowestBinThatIsGoodEnough) {
    retransmission_planner p(radio);
    const std::vector<arq_unit> waiting{whole(1, 3)};
    p.plan(waiting, rated({8, 4, 2, 5}));
    ASSERT_EQ(p.placed().size(), 1U);
    EXPECT_EQ(p.placed()[0].bin, bin_index(1));
    EXPECT_EQ(p.placed()[0].unit, waiting[0]);
    EXPECT_EQ(p.cuts(), 0);
}

TEST(RetransmissionPlanner, InLowerRatedBinsAUnitIsCutAtTheirModulation) {
    retransmission_planner p(radio);
    const std::vector<arq_unit> waiting{whole(1, 4)};  // 102 nibbles
    p.plan(waiting, rated({2, 2, 2}));                 // 48 + 48 + 6
    ASSERT_EQ(p.placed().size(), 3U);
    EXPECT_EQ(p.placed()[0].unit, (arq_unit{1, 0, 48, 2, 0}));
    EXPECT_EQ(p.placed()[1].unit, (arq_unit{1, 48, 48, 2, 0}));
    EXPECT_EQ(p.placed()[2].unit, (arq_unit{1, 96, 6, 1, 0}));  // 6 nibbles need k = 1 only
    EXPECT_EQ(p.cuts(), 1);
    EXPECT_TRUE(p.rest().empty());
}

TEST(RetransmissionPlanner, WhatFindsNoBinWaitsAsARestOfNoModulation) {
    retransmission_planner p(radio);
    const std::vector<arq_unit> waiting{whole(1, 4), whole(2, 1)};
    p.plan(waiting, rated({2}));
    ASSERT_EQ(p.placed().size(), 1U);
    EXPECT_EQ(p.used(), 1U);
    ASSERT_EQ(p.rest().size(), 1U);
    EXPECT_EQ(p.rest()[0], (arq_unit{1, 48, 54, 0, 0}));
}

TEST(RetransmissionPlanner, UnitsOfOneModulationGoInAscendingOrderToAscendingBins) {
    retransmission_planner p(radio);
    std::vector<arq_unit> waiting;
    for (frame_sn sn = 10; sn < 15; ++sn) waiting.push_back(whole(sn, 2));
    p.plan(waiting, rated({8, 3, 5, 2, 2}));
    ASSERT_EQ(p.placed().size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(p.placed()[i].bin, bin_index(i));
        EXPECT_EQ(p.placed()[i].unit.sn, 10 + static_cast<frame_sn>(i));
    }
}

// The test covers all modulations of three units (0 = a rest of 60 nibbles) and all rates of three
// bins.
TEST(RetransmissionPlanner, AllSmallCasesCoverEachUnitOnceAndRespectTheBins) {
    retransmission_planner p(radio);
    for (int u = 0; u < 9 * 9 * 9; ++u)
        for (int b = 0; b < 8 * 8 * 8; ++b) {
            std::vector<arq_unit> waiting;
            for (int i = 0, v = u; i < 3; ++i, v /= 9)
                waiting.push_back(v % 9 == 0 ? arq_unit{i, 10, 60, 0, 2} : whole(i, v % 9));
            const auto bins = rated({1 + b % 8, 1 + b / 8 % 8, 1 + b / 64});
            p.plan(waiting, bins);
            std::set<bin_index> used;
            std::map<frame_sn, std::vector<arq_unit>> parts;
            for (const auto& placed : p.placed()) {
                ASSERT_TRUE(used.insert(placed.bin).second) << "bin used twice";
                ASSERT_LE(placed.unit.bits_per_symbol, bins[placed.bin.n()].rate);
                ASSERT_GE(placed.unit.bits_per_symbol, 1);
                ASSERT_LE(placed.unit.length,
                          frame_payload_nibbles(radio, placed.unit.bits_per_symbol));
                parts[placed.unit.sn].push_back(placed.unit);
            }
            for (const auto& rest : p.rest()) parts[rest.sn].push_back(rest);
            ASSERT_EQ(parts.size(), p.used());
            for (std::size_t i = 0; i < p.used(); ++i) {
                auto& list = parts[static_cast<frame_sn>(i)];
                std::sort(list.begin(), list.end(), before);
                int at = waiting[i].offset;
                for (const auto& part : list) {
                    ASSERT_EQ(part.offset, at);
                    ASSERT_EQ(part.retransmissions, waiting[i].retransmissions);
                    at += part.length;
                }
                ASSERT_EQ(at, waiting[i].offset + waiting[i].length);
                // Kept whole whenever it is in one piece of a unit that had a modulation.
                if (waiting[i].bits_per_symbol != 0 && list.size() == 1) {
                    ASSERT_EQ(list[0], waiting[i]);
                }
            }
            // The oldest is always served, and nobody waits while a bin is free.
            ASSERT_GE(p.used(), 1U);
            if (p.used() < 3) {
                ASSERT_EQ(p.placed().size(), 3U);
            }
        }
}

}  // namespace
}  // namespace wip
