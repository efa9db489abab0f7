// SPDX-License-Identifier: GPL-3.0-or-later
// Sample time from rx_time tags, and slot numbers from sample time and what the air carries.
#include <gtest/gtest.h>

#include <random>

#include "sample_clock.h"
#include "slot_number.h"

namespace {

using namespace wip;

TEST(slot_number, the_air_decides_modulo_a_hyperframe_and_the_sample_time_the_rest) {
    std::mt19937_64 random(7);
    for (int i = 0; i < 10000; ++i) {
        const auto truth = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 40));
        const auto error = static_cast<std::int64_t>(random() % (hyperframe_slots - 1)) -
                           (hyperframe_slots / 2 - 1);
        const sample start((truth + error) * slot_samples);
        EXPECT_EQ(unwrap_slot(start, truth % hyperframe_slots).value, truth);
    }
}

TEST(slot_number, a_start_a_little_before_or_after_the_slots_time_is_that_slot) {
    for (const int offset : {-2559, -77, -1, 0, 1, 77, 2559})
        EXPECT_EQ(nearest_slot(first_sample(slot(150)) + sample_count(offset)).value, 150);
}

TEST(sample_clock, times_split_and_join_exactly) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 100000; ++i) {
        const sample s(static_cast<std::int64_t>(random() % (std::uint64_t{1} << 46)));
        const auto [full, fraction] = time_of_sample(s);
        ASSERT_LT(fraction, 1.0);
        ASSERT_EQ(sample_of_time(full, fraction), s);
    }
}

TEST(sample_clock, counts_from_the_last_tag_and_calls_only_later_disagreement_a_jump) {
    sample_clock clock{sample(1000)};
    EXPECT_EQ(clock.at(5).value, 1005);
    EXPECT_FALSE(clock.set(0, sample(768000)));  // the first tag says when the stream began
    EXPECT_EQ(clock.at(5120).value, 773120);
    EXPECT_FALSE(clock.set(5120, sample(773120)));  // a retune: no samples missing
    EXPECT_TRUE(clock.set(6000, sample(800000)));   // an overflow
    EXPECT_EQ(clock.at(6001).value, 800001);
}

}  // namespace
