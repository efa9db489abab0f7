// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <bit>

#include "core/attenuation.h"
#include "core/layout.h"

using namespace wip::attenuator;

namespace {

// The attenuation that a PE43711 makes of its register: D0 is 0.25 dB, D6 is 16 dB.
double db_of_word(unsigned word) {
    double db = 0, weight = 0.25;
    for (int bit = 0; bit < 7; ++bit, weight *= 2)
        if ((word >> bit & 1) != 0) db += weight;
    return db;
}

}  // namespace

TEST(Attenuation, EachLevelOfAChipIsTheSumOfItsBits) {
    for (int q = 0; q <= max_of_chip.value; ++q) {
        const unsigned word = spi_word({static_cast<std::uint8_t>(q)});
        EXPECT_EQ(db_of_word(word), 0.25 * q);
        EXPECT_EQ(word >> 7, 0u) << "D7 has to be 0";
    }
}

TEST(Attenuation, TwoInSeriesAddUpAndAStepChangesOneOfThem) {
    series_shares before = share_in_series({0});
    for (int q = 0; q <= max_in_series.value; ++q) {
        const auto s = share_in_series({static_cast<std::uint8_t>(q)});
        EXPECT_EQ(s.first.value + s.second.value, q);
        EXPECT_LE(s.first, max_of_chip);
        EXPECT_LE(s.second, max_of_chip);
        const int changed = (s.first != before.first) + (s.second != before.second);
        EXPECT_EQ(changed, q == 0 ? 0 : 1);
        before = s;
    }
}

TEST(Attenuation, EveryWiringHasTheChannelsThatItsChipsMake) {
    for (unsigned series = 0; series < 16; ++series) {
        const chip_layout layout(static_cast<std::uint8_t>(series));
        EXPECT_EQ(std::popcount(layout.channels()), nof_chips - std::popcount(series));
        int all = 0;
        const auto most = layout.all_at_max();
        for (int c = 0; c < nof_chips; ++c) {
            if (layout.exists({c})) all += layout.max_of({c}).value;
            EXPECT_EQ(layout.level_of_chip(c, most), max_of_chip);
            EXPECT_EQ((layout.channels() >> c & 1) != 0, layout.exists({c}));
        }
        EXPECT_EQ(all, nof_chips * max_of_chip.value);
    }
    EXPECT_FALSE(chip_layout(0).exists({-1}));
    EXPECT_FALSE(chip_layout(0).exists({nof_chips}));
}

TEST(Attenuation, AChannelSetsItsOwnChips) {
    const chip_layout layout(0b0010);  // 3 and 4 in series
    channel_levels levels{};
    levels[2] = {200};
    for (int c = 0; c < nof_chips; ++c)
        EXPECT_EQ(layout.level_of_chip(c, levels).value, c == 2 ? 127 : c == 3 ? 73 : 0);
}
