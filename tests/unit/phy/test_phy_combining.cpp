// SPDX-License-Identifier: GPL-3.0-or-later
// Chase combining: the store, and what it is worth over the air.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "phy/detection/combining_store.h"
#include "phy_link.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

soft_copy copy_of(float value) {
    soft_copy c{};
    c.re.fill(value);
    return c;
}

TEST(combining_store, finds_what_was_put_under_its_whole_key) {
    combining_store s(64);
    s.put({5, 0, 4}, copy_of(1));
    s.put({5, 0, 2}, copy_of(2));
    s.put({5, 30, 4}, copy_of(3));
    s.put({6, 0, 4}, copy_of(4));
    EXPECT_EQ(s.find({5, 0, 4})->re[0], 1);
    EXPECT_EQ(s.find({5, 0, 2})->re[0], 2);
    EXPECT_EQ(s.find({5, 30, 4})->re[0], 3);
    EXPECT_EQ(s.find({6, 0, 4})->re[0], 4);
    EXPECT_EQ(s.find({7, 0, 4}), nullptr);
    EXPECT_EQ(s.size(), 4);
}

TEST(combining_store, replaces_and_erases) {
    combining_store s(64);
    s.put({5, 0, 4}, copy_of(1));
    s.put({5, 0, 4}, copy_of(9));
    EXPECT_EQ(s.size(), 1);
    EXPECT_EQ(s.find({5, 0, 4})->re[0], 9);
    s.erase({5, 0, 4});
    s.erase({5, 0, 4});
    EXPECT_EQ(s.size(), 0);
    EXPECT_EQ(s.find({5, 0, 4}), nullptr);
}

TEST(combining_store, stays_within_its_capacity_and_keeps_the_newest) {
    combining_store s(64);
    for (int sn = 0; sn < 1000; ++sn) s.put({static_cast<wire_sn>(sn), 0, 1}, copy_of(0));
    EXPECT_EQ(s.size(), 64);
    for (int sn = 1000 - 64; sn < 1000; ++sn)
        EXPECT_NE(s.find({static_cast<wire_sn>(sn), 0, 1}), nullptr) << sn;
}

TEST(combining_store, forgets_what_is_older_than_the_window_also_across_the_wrap) {
    combining_store s(64);
    for (const int sn : {65530, 65535, 0, 3}) s.put({static_cast<wire_sn>(sn), 0, 1}, copy_of(0));
    s.forget_before(0);
    EXPECT_EQ(s.find({65530, 0, 1}), nullptr);
    EXPECT_EQ(s.find({65535, 0, 1}), nullptr);
    EXPECT_NE(s.find({0, 0, 1}), nullptr);
    EXPECT_NE(s.find({3, 0, 1}), nullptr);
}

TEST(combining_store, refuses_odd_capacities) {
    EXPECT_THROW(combining_store(0), std::invalid_argument);
    EXPECT_THROW(combining_store(100), std::invalid_argument);
}

// Units of 16-QAM in every bin at 9 dB, where hardly any frame is right at once; each is sent
// `copies` times. Returns the share that was received by then.
struct outcome {
    double received;
    int combined;
};
outcome retransmit(bool combining, int copies, std::uint16_t window_edge = 1000) {
    slot_modulator modulator({});
    slot_receiver receiver({.combining = combining});
    slot_source source(4, 3);
    sample_channel channel({.snr_db = 14});
    std::int64_t air = 150;
    for (; air < 200; ++air)
        receiver.process(first_sample(slot(air)),
                         channel.pass(modulate(modulator, source.make(slot(air)))),
                         [](const received_slot&) {});
    int units = 0, good = 0;
    outcome out{0, 0};
    for (int round = 0; round < 20; ++round) {
        auto s = source.make(slot(air));
        std::map<std::size_t, bool> done;
        for (int copy = 0; copy < copies; ++copy, ++air) {
            s.air = slot(air);
            s.grant.frame_number = frame_number_of(s.air);
            if (copy == 1) {
                s.grant.first_new_sn = static_cast<wire_sn>(s.grant.first_new_sn + nof_bins);
                s.grant.window_edge = window_edge;
                for (auto& b : s.grant.bins) b.retransmission = true;
            }
            receiver.process(
                first_sample(s.air), channel.pass(modulate(modulator, s)),
                [&](const received_slot& r) {
                    EXPECT_TRUE(r.grant_ok);
                    for (std::size_t b = 0; b < nof_bins; ++b) {
                        out.combined += r.bins[b].combined;
                        if (r.bins[b].outcome != frame_outcome::good) continue;
                        done[b] = true;
                        EXPECT_TRUE(std::equal(r.bins[b].payload.begin(), r.bins[b].payload.end(),
                                               s.payload[b].begin()));
                    }
                });
        }
        units += nof_bins;
        good += static_cast<int>(done.size());
    }
    out.received = static_cast<double>(good) / units;
    return out;
}

TEST(combining, of_two_copies_gives_frames_that_neither_copy_gave) {
    const auto without = retransmit(false, 2);
    const auto with = retransmit(true, 2);
    EXPECT_EQ(without.combined, 0);
    EXPECT_GT(with.combined, 100);
    EXPECT_LT(without.received, 0.1);
    EXPECT_GT(with.received, without.received + 0.6);
}

TEST(combining, of_four_copies_is_worth_6_db) {
    EXPECT_LT(retransmit(false, 4).received, 0.2);
    EXPECT_GT(retransmit(true, 4).received, 0.99);
}

}  // namespace
