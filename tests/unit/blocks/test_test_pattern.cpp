// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <stdexcept>

#include "test_pattern.h"

namespace {

using wip::test_pattern;

TEST(test_pattern, grants_are_valid_for_every_modulation_and_carry_frames_of_the_right_size) {
    for (int k = 1; k <= wip::max_bits_per_symbol; ++k) {
        test_pattern pattern({.modulation = k, .bins = {0, 7, 24}, .seed = 3});
        pattern.next(wip::slot(150));
        std::array<std::uint8_t, wip::grant_bytes> bytes;
        ASSERT_TRUE(wip::pack_grant(pattern.grant(), test_pattern::profile, bytes));
        const auto back = wip::unpack_grant(bytes, test_pattern::profile);
        ASSERT_TRUE(back.has_value());
        EXPECT_EQ(*back, pattern.grant());
        for (std::size_t b = 0; b < wip::nof_bins; ++b) {
            const bool used = b == 0 || b == 7 || b == 24;
            EXPECT_EQ(back->bins[b].bits_per_symbol, used ? k : 0);
            EXPECT_EQ(
                pattern.payload()[b].size(),
                used ? static_cast<std::size_t>(wip::frame_payload_bytes(test_pattern::profile, k))
                     : 0U);
        }
    }
}

TEST(test_pattern, sequence_numbers_count_up_over_slots_and_wrap) {
    test_pattern pattern({.modulation = 1, .bins = {}, .seed = 1});
    for (int slot = 0; slot < 3000; ++slot) {
        pattern.next(wip::slot(slot));
        for (std::size_t b = 0; b < wip::nof_bins; ++b)
            ASSERT_EQ(pattern.grant().bins[b].sn,
                      static_cast<wip::wire_sn>(slot * wip::nof_bins + static_cast<int>(b)));
    }
}

TEST(test_pattern, content_follows_from_seed_and_sequence_number) {
    test_pattern pattern({.modulation = 5, .bins = {4}, .seed = 9});
    pattern.next(wip::slot(1));
    pattern.next(wip::slot(2));
    std::vector<std::uint8_t> expected(pattern.payload()[4].size());
    test_pattern::frame_content(9, 1, 5, expected);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), pattern.payload()[4].begin()));
    std::vector<std::uint8_t> other(expected.size());
    test_pattern::frame_content(10, 1, 5, other);
    EXPECT_NE(other, expected);
}

TEST(test_pattern, an_odd_number_of_nibbles_leaves_the_last_one_zero) {
    std::vector<std::uint8_t> out(
        static_cast<std::size_t>(wip::frame_payload_bytes(test_pattern::profile, 1)));
    ASSERT_EQ(wip::frame_payload_nibbles(test_pattern::profile, 1) % 2, 1);
    for (int sn = 0; sn < 100; ++sn) {
        test_pattern::frame_content(1, static_cast<wip::wire_sn>(sn), 1, out);
        EXPECT_EQ(out.back() & 0x0f, 0);
    }
}

TEST(test_pattern, refuses_bad_parameters) {
    EXPECT_THROW(test_pattern({.modulation = 0, .bins = {}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 9, .bins = {}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {25}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {-1}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {3, 3}, .seed = 1}), std::invalid_argument);
}

}  // namespace
