// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
    f.frame_number = 4095;
    f.slot_in_frame = 29;
    f.grant_ok = true;
    f.ack = 0x1555555;
    for (std::size_t b = 0; b < nof_bins; ++b)
        f.predicted_snr_db[b] = -12.0F + 2.5F * static_cast<float>(b);
    f.prediction_nmse = 0.1F;
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
}

TEST(FeedbackBits, BitsThatNobodyPackedAreRefused) {
    std::array<std::uint8_t, feedback_bytes> bits;
    pack_feedback({}, bits);
    EXPECT_TRUE(unpack_feedback(bits));
    auto wrong = bits;
    wrong[1] |= 0x0f;  // slot 30 or 31 in the frame
    wrong[2] |= 0x80;
    EXPECT_FALSE(unpack_feedback(wrong));
    wrong = bits;
    wrong[3] |= 0x01;  // an ACK without a grant
    EXPECT_FALSE(unpack_feedback(wrong));
    wrong = bits;
    wrong[29] = 1;  // not zero at the end
    EXPECT_FALSE(unpack_feedback(wrong));
}

}  // namespace
}  // namespace wip
