// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled twice: `char` has a sign on x86-64, and none on 64-bit ARM (-funsigned-char).
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "types/point_code.h"

namespace {

static_assert(std::is_same_v<decltype(wip::point_code(0)), std::int8_t>);

TEST(point_code, is_in_64ths_and_clipped_and_never_undefined) {
    EXPECT_EQ(wip::point_code(0), 0);
    EXPECT_EQ(wip::point_code(1), 64);
    EXPECT_EQ(wip::point_code(-0.5F), -32);
    EXPECT_EQ(wip::point_code(5), 127);
    EXPECT_EQ(wip::point_code(-std::numeric_limits<float>::infinity()), -127);
    EXPECT_EQ(wip::point_code(std::numeric_limits<float>::quiet_NaN()), 0);
}

TEST(point_code, keeps_its_sign_in_a_string_of_bytes) {
    std::string bytes;
    bytes.push_back(wip::point_code(-0.5F));
    EXPECT_EQ(static_cast<unsigned char>(bytes[0]), 0xE0);
    EXPECT_EQ(static_cast<std::int8_t>(bytes[0]), -32);
}

}  // namespace
