// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <vector>

#include "wire/clear_nibbles.h"
#include "wire/nibbles.h"

namespace wip {
namespace {

TEST(Nibbles, EveryCopyOfUpToSixtyNibblesMatchesTheOneByOneCopy) {
    std::vector<std::uint8_t> from(64);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 37 + 11);
    for (std::size_t to_offset = 0; to_offset < 5; ++to_offset)
        for (std::size_t from_offset = 0; from_offset < 5; ++from_offset)
            for (std::size_t n = 0; n <= 60; ++n) {
                std::vector<std::uint8_t> fast(40, 0x5a), slow(40, 0x5a);
                copy_nibbles(fast.data(), to_offset, from.data(), from_offset, n);
                for (std::size_t i = 0; i < n; ++i)
                    set_nibble(slow.data(), to_offset + i,
                               get_nibble(from.data(), from_offset + i));
                ASSERT_EQ(fast, slow) << to_offset << ' ' << from_offset << ' ' << n;
            }
}

TEST(Nibbles, ACopyReadsNoByteBeyondItsLastNibble) {
    // The sanitizer build sees a read beyond the buffer; here the buffer ends with the copy.
    for (std::size_t n = 1; n < 50; ++n) {
        const std::vector<std::uint8_t> from((n + 2) / 2, 0xff);
        std::vector<std::uint8_t> to((n + 1) / 2, 0);
        copy_nibbles(to.data(), 0, from.data(), 1, n);
        for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(get_nibble(to.data(), i), 0xf);
    }
}

TEST(Nibbles, TheHighNibbleComesFirst) {
    const std::uint8_t byte = 0x4a;
    EXPECT_EQ(get_nibble(&byte, 0), 4);
    EXPECT_EQ(get_nibble(&byte, 1), 10);
}

}  // namespace
TEST(Nibbles, ClearingBeginsAtItsNibbleAndReachesTheEnd) {
    constexpr std::size_t bytes = 5;
    for (std::size_t n = 0; n <= 2 * bytes; ++n) {
        std::vector<std::uint8_t> out(bytes + 1, 0xab);
        clear_nibbles_from(std::span(out).first(bytes), n);
        for (std::size_t i = 0; i < 2 * bytes; ++i)
            EXPECT_EQ(get_nibble(out.data(), i), i >= n ? 0 : i % 2 == 0 ? 0xa : 0xb) << n;
        EXPECT_EQ(out.back(), 0xab);
    }
}

}  // namespace wip
