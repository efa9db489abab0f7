// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <random>

#include "link/fills_all_bins.h"

namespace {

using namespace wip;

constexpr std::uint32_t all_bins = (1U << nof_bins) - 1;
constexpr int most = frame_payload_nibbles(link_profile::radio, max_bits_per_symbol);

scheduling_view one_piece(int nibbles) {
    scheduling_view v;
    v.rate.fill(max_bits_per_symbol);
    v.piece[0] = nibbles;
    v.nof_pieces = 1;
    return v;
}

TEST(FillsAllBins, AQueueFillsThemFromTheFirstNibbleThatTheLastBinGets) {
    EXPECT_FALSE(fills_all_bins(one_piece((nof_bins - 1) * most), link_profile::radio));
    EXPECT_TRUE(fills_all_bins(one_piece((nof_bins - 1) * most + 1), link_profile::radio));
    EXPECT_TRUE(fills_all_bins(one_piece(1 << 30), link_profile::radio));
}

TEST(FillsAllBins, NoPieceFillsNone) {
    EXPECT_FALSE(fills_all_bins(scheduling_view{}, link_profile::radio));
}

TEST(FillsAllBins, SoManyPiecesAsBinsFillThemHoweverShort) {
    scheduling_view v;
    v.rate.fill(max_bits_per_symbol);
    v.piece.fill(1);
    v.nof_pieces = nof_bins;
    EXPECT_TRUE(fills_all_bins(v, link_profile::radio));
    v.nof_pieces = nof_bins - 1;
    EXPECT_FALSE(fills_all_bins(v, link_profile::radio));
}

// With one modulation the payload of all bins is the same, so that the answer is exact for 8 bits a
// symbol. For others it may be no although all bins are needed, but never yes when they are not.
TEST(FillsAllBins, WhereItSaysSoTheBestBinsAreAllBins) {
    std::mt19937 random(1);
    int yes = 0, no = 0;
    for (int i = 0; i < 100'000; ++i) {
        scheduling_view v;
        v.nof_pieces = static_cast<int>(random() % (nof_bins + 1));
        for (int p = 0; p < v.nof_pieces; ++p)
            v.piece[static_cast<std::size_t>(p)] = static_cast<int>(1 + random() % (5 * most));
        const bool alike = i % 2 == 0;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            v.predicted_snr_db[b] = static_cast<float>(random() % 40);
            v.rate[b] = static_cast<std::uint8_t>(alike ? max_bits_per_symbol
                                                        : 1 + random() % max_bits_per_symbol);
        }
        for (const auto profile : {link_profile::radio, link_profile::wipemu}) {
            const bool all = best_bins(v, profile, nof_bins) == all_bins;
            const bool fills = fills_all_bins(v, profile);
            ++(fills ? yes : no);
            if (fills) {
                ASSERT_TRUE(all);
            }
            if (alike) {
                ASSERT_EQ(fills, all);
            }
        }
    }
    EXPECT_GT(yes, 10'000);
    EXPECT_GT(no, 10'000);
}

}  // namespace
