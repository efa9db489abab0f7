// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "core/crc32.h"
#include "core/frame.h"

using namespace wip::attenuator;

namespace {

using bytes = std::vector<std::uint8_t>;

bytes framed(const bytes& message) {
    std::array<std::uint8_t, max_frame_bytes> frame{};
    const std::size_t n = write_frame(message, frame);
    return {frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(n)};
}

struct line {
    frame_reader reader;
    std::vector<bytes> messages;
    bytes text;
    int damaged = 0;
    void give(const bytes& b) {
        for (const auto byte : b) switch (reader.on_byte(byte)) {
                case frame_reader::taken::text:
                    text.push_back(byte);
                    break;
                case frame_reader::taken::part:
                    break;
                case frame_reader::taken::message: {
                    const auto m = reader.message();
                    messages.emplace_back(m.begin(), m.end());
                    break;
                }
                case frame_reader::taken::damaged:
                    ++damaged;
                    break;
            }
    }
};

bytes of_text(std::string_view t) { return {t.begin(), t.end()}; }

}  // namespace

TEST(Frame, TheChecksumIsThatOfZlib) { EXPECT_EQ(crc32(of_text("123456789")), 0xcbf43926u); }

TEST(Frame, EveryLengthAndContentComesOutAsItWentIn) {
    std::mt19937 dice(1);
    for (std::size_t length = 0; length <= max_message_bytes; ++length)
        for (const int zeros : {0, 1, 2, 255}) {  // zeros at the end of 256 bytes
            bytes message(length);
            for (auto& b : message)
                b = static_cast<int>(dice() % 256) < zeros
                        ? std::uint8_t{0}
                        : static_cast<std::uint8_t>(1 + dice() % 255);
            line l;
            const bytes f = framed(message);
            EXPECT_EQ(std::count(f.begin(), f.end(), 0), 2);
            l.give(f);
            ASSERT_EQ(l.messages, std::vector<bytes>{message}) << length << " bytes";
            EXPECT_TRUE(l.text.empty());
        }
}

TEST(Frame, AMessageThatIsTooLongIsNotWritten) {
    EXPECT_TRUE(framed(bytes(max_message_bytes + 1)).empty());
}

TEST(Frame, TextAndFramesShareALine) {
    line l;
    l.give(of_text("*IDN?\n"));
    l.give(framed({1, 0, 2}));
    l.give(of_text("INP1:ATT 3\n"));
    EXPECT_EQ(l.text, of_text("*IDN?\nINP1:ATT 3\n"));
    EXPECT_EQ(l.messages, std::vector<bytes>{bytes({1, 0, 2})});
}

TEST(Frame, EveryBitThatTurnsIsFound) {
    const bytes good = framed({8, 5, 0, 0, 200, 17});
    for (std::size_t at = 0; at < good.size(); ++at)
        for (int bit = 0; bit < 8; ++bit) {
            bytes f = good;
            f[at] ^= static_cast<std::uint8_t>(1 << bit);
            line l;
            l.give(f);
            EXPECT_TRUE(l.messages.empty()) << at << "." << bit;
        }
}

TEST(Frame, AByteThatIsLostCostsAtMostTwoFrames) {
    const bytes one = framed({1, 2, 3}), two = framed({4, 5, 6}), three = framed({7, 8, 9});
    for (std::size_t lost = 0; lost < one.size(); ++lost) {
        bytes f = one;
        f.erase(f.begin() + static_cast<std::ptrdiff_t>(lost));
        line l;
        l.give(f);
        l.give(two);
        l.give(three);
        ASSERT_FALSE(l.messages.empty()) << lost;
        EXPECT_EQ(l.messages.back(), bytes({7, 8, 9})) << lost;
    }
}

TEST(Frame, OneThatIsTooLongIsDamagedAndTheNextOneIsNot) {
    line l;
    l.give({0});
    l.give(bytes(3 * max_frame_bytes, 7));
    l.give({0});
    EXPECT_EQ(l.damaged, 1);
    l.give(framed({1}));
    EXPECT_EQ(l.messages, std::vector<bytes>{bytes{1}});
}

TEST(Frame, AfterAPauseTextIsText) {
    line l;
    l.give({0, 5, 6});
    EXPECT_TRUE(l.reader.inside());
    l.reader.idle();
    l.give(of_text("*RST\n"));
    EXPECT_EQ(l.text, of_text("*RST\n"));
}
