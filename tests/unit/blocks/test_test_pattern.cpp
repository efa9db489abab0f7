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

// The frames as a receiver sees them: each group of 3 n slots brings three slots of new frames, and
// then those frames again, under the same SNs, with the same content.
TEST(test_pattern, several_transmissions_bring_the_same_frames_three_slots_later) {
    for (int n = 2; n <= test_pattern::most_transmissions; ++n) {
        test_pattern pattern({.modulation = 2, .bins = {}, .seed = 1, .transmissions = n});
        std::array<std::vector<std::uint8_t>, 3> first;
        for (int slot = 0; slot < 30000; ++slot) {  // SNs wrap
            pattern.next(wip::slot(slot));
            std::array<std::uint8_t, wip::grant_bytes> bytes;
            ASSERT_TRUE(wip::pack_grant(pattern.grant(), test_pattern::profile, bytes)) << slot;
            const auto back = wip::unpack_grant(bytes, test_pattern::profile);
            ASSERT_TRUE(back.has_value());
            ASSERT_EQ(*back, pattern.grant());
            const int in_group = slot % (3 * n);
            const int number_of_slot = slot / (3 * n) * 3 + slot % 3;
            const auto& frame = pattern.grant().bins[24];
            ASSERT_EQ(frame.sn, static_cast<wip::wire_sn>(number_of_slot * 25 + 24));
            ASSERT_EQ(frame.retransmission, in_group >= 3);
            // The oldest frame that may still come: the first of the group.
            ASSERT_EQ(static_cast<wip::wire_sn>(pattern.grant().first_new_sn -
                                                pattern.grant().window_edge),
                      static_cast<wip::wire_sn>(slot / (3 * n) * 75));
            const std::vector<std::uint8_t> content(pattern.payload()[24].begin(),
                                                    pattern.payload()[24].end());
            auto& kept = first[static_cast<std::size_t>(slot % 3)];
            if (in_group < 3) kept = content;
            ASSERT_EQ(content, kept);
        }
    }
}

TEST(test_pattern, modulation_and_bins_change_while_it_runs_and_a_bad_value_changes_nothing) {
    test_pattern pattern({.modulation = 2, .bins = {0, 1, 2}, .seed = 1});
    pattern.set_modulation(6);
    pattern.set_bins({7});
    EXPECT_THROW(pattern.set_modulation(9), std::invalid_argument);
    EXPECT_THROW(pattern.set_bins({7, 7}), std::invalid_argument);
    pattern.next(wip::slot(1));
    for (std::size_t b = 0; b < wip::nof_bins; ++b)
        EXPECT_EQ(pattern.grant().bins[b].bits_per_symbol, b == 7 ? 6 : 0);
    EXPECT_EQ(pattern.payload()[7].size(),
              static_cast<std::size_t>(wip::frame_payload_bytes(test_pattern::profile, 6)));
    EXPECT_TRUE(pattern.payload()[0].empty());
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
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {}, .seed = 1, .transmissions = 0}),
                 std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {}, .seed = 1, .transmissions = 9}),
                 std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {25}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {-1}, .seed = 1}), std::invalid_argument);
    EXPECT_THROW(test_pattern({.modulation = 2, .bins = {3, 3}, .seed = 1}), std::invalid_argument);
}

}  // namespace
