// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "receiver_message.h"

namespace {

using wip::frame_outcome;
using wip::phy::cf32;

TEST(receiver_detail, has_the_symbols_of_the_bins_in_use_the_channel_and_the_noise) {
    const std::vector<cf32> first(108, {1, -1}), second(108, {0.25F, 0}), channel(500, {0.5F, -2});
    const std::vector<float> noise(25, 0.01F);
    wip::phy::received_slot slot;
    slot.locked = slot.grant_ok = true;
    slot.bins[2].outcome = frame_outcome::good;
    slot.bins[2].symbols = first;
    slot.bins[3].symbols = second;  // an unused bin is not sent
    slot.bins[9].outcome = frame_outcome::bad;
    slot.bins[9].symbols = second;
    slot.channel = channel;
    slot.bin_noise = noise;
    slot.unit_dbfs = -20;
    openwip::slot_link::ReceiverDetail out;
    out.set_points("what was there before");
    const std::vector<float> spectrum(768, -70);
    out.add_spectrum_dbfs(1);
    wip::fill_detail(slot, spectrum, out);
    ASSERT_EQ(out.points().size(), std::size_t{2} * 2 * 108);
    EXPECT_EQ(out.points()[0], 64);
    EXPECT_EQ(static_cast<signed char>(out.points()[1]), -64);
    EXPECT_EQ(out.points()[216], 16);
    ASSERT_EQ(out.channel_size(), 1000);
    EXPECT_NEAR(out.channel(0), 0.05F, 1e-6F);
    EXPECT_NEAR(out.channel(999), -0.2F, 1e-6F);
    ASSERT_EQ(out.noise_dbfs_size(), 25);
    EXPECT_NEAR(out.noise_dbfs(24), -40, 1e-3);
    ASSERT_EQ(out.spectrum_dbfs_size(), 768);
    EXPECT_EQ(out.spectrum_dbfs(767), -70);
}

TEST(receiver_detail, without_lock_has_the_spectrum_alone) {
    const std::vector<cf32> channel(500, {0.5F, -2});
    const std::vector<float> noise(25, 0.01F), spectrum(768, -70);
    wip::phy::received_slot slot;
    slot.channel = channel;
    slot.bin_noise = noise;
    openwip::slot_link::ReceiverDetail out;
    wip::fill_detail(slot, spectrum, out);
    EXPECT_EQ(out.spectrum_dbfs_size(), 768);
    EXPECT_EQ(out.channel_size(), 0);
    EXPECT_EQ(out.noise_dbfs_size(), 0);
    EXPECT_TRUE(out.points().empty());
}

TEST(receiver_detail, of_a_slot_without_grant_has_no_points) {
    wip::phy::received_slot slot;
    slot.locked = true;
    openwip::slot_link::ReceiverDetail out;
    wip::fill_detail(slot, {}, out);
    EXPECT_TRUE(out.points().empty());
    EXPECT_EQ(out.spectrum_dbfs_size(), 0);
    EXPECT_EQ(out.channel_size(), 0);
}

}  // namespace
