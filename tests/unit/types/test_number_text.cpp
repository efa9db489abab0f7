// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>

#include "types/number_text.h"

using wip::read_number;

TEST(NumberText, is_decimal_and_all_of_the_text) {
    EXPECT_EQ(read_number<double>("1e5"), 1e5);
    EXPECT_EQ(read_number<double>("+0.5"), 0.5);
    EXPECT_EQ(read_number<int>("010"), 10);
    EXPECT_EQ(read_number<int>("-7"), -7);
    for (const auto* text : {"", " 1", "1 ", "0x10", "1e", "1,5", "+-1", "--1", "++1", "1.2.3"}) {
        EXPECT_FALSE(read_number<double>(text)) << text;
        EXPECT_FALSE(read_number<int>(text)) << text;
    }
    for (const auto* text : {"1e5", "1.0"}) EXPECT_FALSE(read_number<int>(text)) << text;
}

TEST(NumberText, is_what_its_type_can_hold) {
    for (const auto* text : {"nan", "-nan", "inf", "-inf", "infinity", "1e400", "1e-400"})
        EXPECT_FALSE(read_number<double>(text)) << text;
    EXPECT_FALSE(read_number<int>("2147483648"));
    EXPECT_FALSE(read_number<unsigned>("-1"));
    EXPECT_FALSE(read_number<float>("1e39"));
    EXPECT_EQ(read_number<double>("1e-310"), 1e-310);
}

TEST(NumberText, knows_one_zero) {
    ASSERT_TRUE(read_number<double>("-0"));
    EXPECT_FALSE(std::signbit(*read_number<double>("-0")));
    EXPECT_FALSE(std::signbit(*read_number<float>("-0.0")));
    EXPECT_EQ(read_number<int>("-0"), 0);
}
