// SPDX-License-Identifier: GPL-3.0-or-later
// The slot path does not allocate: every operator new of the process is counted.
#include <gtest/gtest.h>

#include "counting_allocator.h"
#include "phy_link.h"

namespace {

using namespace wip;
using wip::test::allocations;
using namespace wip::phy;
using namespace wip::phy::test;

void expect_none(std::string_view predictor) {
    slot_modulator modulator({});
    slot_receiver receiver({.predictor = std::string(predictor)});
    slot_source source(0);
    sample_channel channel({.snr_db = 15, .doppler_hz = 50});
    std::vector<cf32> out(slot_samples);
    long in_phy = 0;
    int good = 0, bad = 0;
    const slot_receiver::on_slot_fn count = [&](const received_slot& r) {
        for (const auto& b : r.bins) {
            good += b.outcome == frame_outcome::good;
            bad += b.outcome == frame_outcome::bad;
        }
    };
    for (int i = 0; i < 300; ++i) {
        const auto s = source.make(slot(150 + i));
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
        long before = allocations;
        modulator.work(s.air, s.grant, views,
                       std::span<cf32, slot_samples>(out.data(), slot_samples));
        in_phy += allocations - before;
        const auto x = channel.pass(out);
        if (i == 200) receiver.want_soft_bits(true);
        if (i % 100 >= 97) continue;  // leaves a gap
        before = allocations;
        receiver.process(first_sample(s.air), x, count);
        in_phy += allocations - before;
    }
    EXPECT_GT(allocations, 0);  // shows that the counter works
    EXPECT_GT(good, 1000);
    EXPECT_GT(bad, 100);
    EXPECT_EQ(in_phy, 0);
}

TEST(allocation, none_from_search_through_lock_failing_frames_and_gaps_to_soft_bits) {
    for (const auto predictor : predictor_names) expect_none(predictor);
}

}  // namespace
