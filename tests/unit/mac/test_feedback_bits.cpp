// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "wire/feedback_bits.h"

namespace wip {
namespace {

TEST(FeedbackBits, EveryCodeReadsBackAsItself) {
    for (int code = 0; code < 128; ++code)
        EXPECT_EQ(snr_code(snr_of_code(static_cast<std::uint8_t>(code))), code);
}

TEST(FeedbackBits, AnSnrInRangeIsRoundedByAtMostAQuarterDecibel) {
    for (float snr = -12.0F; snr <= 51.0F; snr += 0.01F)
        EXPECT_NEAR(snr_of_code(snr_code(db(snr))).value, snr, 0.2501F);
}

TEST(FeedbackBits, ValuesOutOfRangeSaturate) {
    EXPECT_EQ(snr_code(db(-50.0F)), 0);
    EXPECT_EQ(snr_code(db(-std::numeric_limits<float>::infinity())), 0);
    EXPECT_EQ(snr_code(db(std::numeric_limits<float>::quiet_NaN())), 0);
    EXPECT_EQ(snr_code(db(60.0F)), 127);
    EXPECT_EQ(snr_code(db(std::numeric_limits<float>::infinity())), 127);
}

TEST(FeedbackBits, AnNmseIsRoundedByFourPercentOrIsNotKnown) {
    for (int code = 1; code < 128; ++code)
        EXPECT_EQ(nmse_code(nmse_of_code(static_cast<std::uint8_t>(code))), code);
    for (float nmse = 1e-4F; nmse <= 1; nmse *= 1.01F)
        EXPECT_NEAR(nmse_of_code(nmse_code(nmse)) / nmse, 1, 0.04F);
    EXPECT_EQ(nmse_code(0), 1);
    EXPECT_EQ(nmse_code(std::numeric_limits<float>::infinity()), 127);
    EXPECT_EQ(nmse_code(std::numeric_limits<float>::quiet_NaN()), 0);
    EXPECT_EQ(nmse_code(-1), 0);
    EXPECT_TRUE(std::isnan(nmse_of_code(0)));
}

TEST(FeedbackBits, APackedFeedbackUnpacksToItself) {
    feedback_content f;
    f.frame_number = 63;
    f.slot_in_frame = 29;
    f.grant_ok = true;
    f.ack = 0x1555555;
    for (std::size_t b = 0; b < nof_bins; ++b)
        f.predicted_snr_db[b] = -12.0F + 2.5F * static_cast<float>(b);
    f.prediction_nmse = 0.1F;
    f.buffer = 63;
    std::array<std::uint8_t, feedback_bytes> bits;
    pack_feedback(f, bits);
    const auto g = unpack_feedback(bits);
    ASSERT_TRUE(g);
    EXPECT_EQ(g->frame_number, f.frame_number);
    EXPECT_EQ(g->slot_in_frame, f.slot_in_frame);
    EXPECT_EQ(g->grant_ok, f.grant_ok);
    EXPECT_EQ(g->ack, f.ack);
    EXPECT_EQ(g->predicted_snr_db, f.predicted_snr_db);
    EXPECT_NEAR(g->prediction_nmse, f.prediction_nmse, 1e-6);
    EXPECT_EQ(g->buffer, f.buffer);
}

TEST(FeedbackBits, ABufferCodeHoldsItsBytesAndTheOneBelowDoesNot) {
    EXPECT_EQ(buffer_code(0), 0);
    EXPECT_EQ(bytes_of_code(0), 0U);
    EXPECT_EQ(buffer_code(1), 1);
    EXPECT_EQ(bytes_of_code(1), 16U);
    EXPECT_EQ(bytes_of_code(63), 786432U);
    for (std::uint64_t bytes = 1; bytes <= 786432; bytes += 1 + bytes / 50) {
        const auto code = buffer_code(bytes);
        EXPECT_GE(bytes_of_code(code), bytes);
        EXPECT_LT(bytes_of_code(static_cast<std::uint8_t>(code - 1)), bytes);
        EXPECT_LE(static_cast<double>(bytes_of_code(code)),
                  std::max(16.0, 1.25 * static_cast<double>(bytes)));
    }
    EXPECT_EQ(buffer_code(std::uint64_t{1} << 40), 63);
}

using form = std::array<std::uint8_t, feedback_bytes>;

// The content with a CRC that makes it a valid form; if no CRC does, the content is returned
// unchanged.
form with_crc(const form& content) {
    form out = content;
    for (std::uint32_t crc = 0; crc < 0x8000; ++crc) {
        out[28] = static_cast<std::uint8_t>((content[28] & 0x80) | crc >> 8);
        out[29] = static_cast<std::uint8_t>(crc);
        if (unpack_feedback(out)) return out;
    }
    return content;
}

TEST(FeedbackBits, FormsThatNobodyPackedAreRefused) {
    form bits;
    pack_feedback({.grant_ok = true}, bits);
    EXPECT_TRUE(unpack_feedback(bits));
    EXPECT_EQ(with_crc(bits), bits);
    auto wrong = bits;
    wrong[0] |= 0x03;  // slot 30 or 31 in the frame, which do not exist
    wrong[1] |= 0xc0;
    EXPECT_FALSE(unpack_feedback(with_crc(wrong)));
    wrong = bits;
    wrong[1] = 0;
    wrong[4] |= 0x08;  // an ACK without a grant
    EXPECT_FALSE(unpack_feedback(with_crc(wrong)));
    EXPECT_FALSE(unpack_feedback(form{}));
}

TEST(FeedbackBits, NoChangeOfOneTwoOrThreeBitsIsAForm) {
    form bits;
    pack_feedback({.frame_number = 21, .slot_in_frame = 17, .grant_ok = true, .ack = 0x155aa33},
                  bits);
    std::mt19937 random(5);
    const auto flip = [](form& f, unsigned bit) {
        f[bit / 8] = static_cast<std::uint8_t>(f[bit / 8] ^ 0x80U >> bit % 8);
    };
    for (unsigned a = 0; a < 240; ++a)
        for (unsigned b = a; b < 240; ++b) {
            auto wrong = bits;
            flip(wrong, a);
            if (b != a) flip(wrong, b);
            EXPECT_FALSE(unpack_feedback(wrong)) << a << " " << b;
            const unsigned c = static_cast<unsigned>(random() % 240);
            flip(wrong, c);
            if (c != a && c != b) {
                EXPECT_FALSE(unpack_feedback(wrong)) << a << " " << b << " " << c;
            }
        }
}

// One random word in 2^15 has the CRC, and 30 of 32 of these name a slot of a frame.
TEST(FeedbackBits, OfRandomWordsAsManyPassAsTheCrcLets) {
    std::mt19937_64 random(9);
    constexpr int words = 1'000'000;
    int passed = 0;
    for (int i = 0; i < words; ++i) {
        form f;
        for (std::size_t n = 0; n < f.size(); n += 6) {
            const std::uint64_t word = random();
            for (std::size_t k = 0; k < 6; ++k) f[n + k] = static_cast<std::uint8_t>(word >> 8 * k);
        }
        f[1] |= 0x10;  // the grant was decoded
        passed += unpack_feedback(f).has_value();
    }
    const double expected = words * std::pow(2.0, -15) * 30 / 32;
    EXPECT_NEAR(passed, expected, 4 * std::sqrt(expected));
}

}  // namespace
}  // namespace wip
