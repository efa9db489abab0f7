// SPDX-License-Identifier: GPL-3.0-or-later
// A terminal's modulator -> channel -> the base station's receiver.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "counting_allocator.h"
#include "phy/receiver/uplink_receiver.h"
#include "phy/sync/cell_search.h"
#include "phy_link.h"
#include "types/uplink_grant.h"

namespace {

using namespace wip;
using namespace wip::phy;
using namespace wip::phy::test;

struct sent_uplink {
    control_content form{};
    slot_grant units;
    std::array<std::vector<std::uint8_t>, nof_bins> payload;
};

class phy_uplink : public testing::Test {
protected:
    static constexpr int cell = 5, terminal = 3;
    static constexpr std::int64_t first_slot = 150;

    // Five of the bins with 16-QAM, as an uplink grant has them; now and then one of them again.
    sent_uplink make() {
        sent_uplink s;
        for (auto& byte : s.form) byte = static_cast<std::uint8_t>(random_());
        uplink_grant g{
            .first_new_sn = next_sn_, .window_edge = 40, .bits_per_symbol = 4, .bins = 5};
        next_sn_ = static_cast<wire_sn>(next_sn_ + g.bins);
        s.units = units_of(g);
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (s.units.bins[b].bits_per_symbol != 0) s.payload[b] = payloads_.random_payload(4);
        return s;
    }
    std::vector<cf32> modulate(const sent_uplink& s, bool with_frames = true) {
        std::vector<cf32> out(slot_samples);
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
        EXPECT_TRUE(modulator_.work_uplink(slot(air_), s.form, with_frames ? s.units : slot_grant{},
                                           views, std::span<cf32, slot_samples>(out)));
        return out;
    }
    // The samples go on in time; what comes out is held against what was sent.
    void receive(const std::vector<cf32>& x) {
        const std::vector<cf32> y = channel_->pass(x);
        receiver_.process(
            sample(air_ * slot_samples), y,
            [&](sample start, int slot_in_frame) -> const slot_grant* {
                const auto at = static_cast<std::size_t>(slot_of_start(start) - first_slot);
                EXPECT_EQ(slot_in_frame, slot_of_start(start) % slots_per_frame);
                return at < sent_.size() ? &sent_[at].units : nullptr;
            },
            [&](const uplink_slot& r) { take(r); });
        ++air_;
    }
    void run(int slots) {
        for (int i = 0; i < slots; ++i) {
            sent_.push_back(make());
            receive(modulate(sent_.back()));
        }
    }
    // The base station knows its own slots; the terminal's come late by the delay of the channel.
    std::int64_t slot_of_start(sample start) const {
        return slot_of(start - sample_count(channel_->set.delay - slot_samples / 2)).value;
    }
    void take(const uplink_slot& r) {
        ++reports;
        last = r;
        if (!r.heard) return;
        ++heard;
        const auto& s = sent_.at(static_cast<std::size_t>(slot_of_start(r.start) - first_slot));
        forms += r.form_ok;
        wrong_forms += r.form_ok && r.form != s.form;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            EXPECT_EQ(r.bins[b].outcome == frame_outcome::unused,
                      s.units.bins[b].bits_per_symbol == 0);
            bad += r.bins[b].outcome == frame_outcome::bad;
            if (r.bins[b].outcome != frame_outcome::good) continue;
            ++good;
            good_without_form += !r.form_ok;
            EXPECT_TRUE(std::equal(r.bins[b].payload.begin(), r.bins[b].payload.end(),
                                   s.payload[b].begin(), s.payload[b].end()));
        }
    }
    void connect(channel_settings c) { channel_ = std::make_unique<sample_channel>(c); }

    std::mt19937 random_{4};
    wire_sn next_sn_ = 65000;
    slot_source payloads_;
    slot_modulator modulator_{{.cell = cell, .terminal = terminal}};
    uplink_receiver receiver_{{.cell = cell, .terminal = terminal}};
    std::unique_ptr<sample_channel> channel_;
    std::int64_t air_ = first_slot;
    std::vector<sent_uplink> sent_;
    int reports = 0, heard = 0, forms = 0, wrong_forms = 0, good = 0, bad = 0;
    int good_without_form = 0;
    uplink_slot last;
};

TEST_F(phy_uplink, carries_forms_and_frames_without_an_error_at_30_db) {
    connect({.snr_db = 30});
    run(120);
    EXPECT_EQ(reports, 120);
    EXPECT_GE(heard, 110);
    EXPECT_EQ(forms, heard);
    EXPECT_EQ(wrong_forms, 0);
    EXPECT_EQ(good, 5 * heard);
    EXPECT_EQ(bad, 0);
    EXPECT_EQ(receiver_.counts().synchronisations, 1U);
    EXPECT_EQ(receiver_.counts().forms_failed, 0U);
}

TEST_F(phy_uplink, finds_timing_carrier_offset_and_level_of_the_terminal) {
    // a delay of 102 samples: 2 km and back
    connect({.snr_db = 25, .cfo_hz = -3210, .delay = 102, .gain_db = -17});
    run(150);
    EXPECT_GE(heard, 135);
    EXPECT_EQ(forms, heard);
    EXPECT_NEAR(last.timing_samples, 102, 0.3);
    EXPECT_NEAR(last.cfo_hz, -3210, 8);
    EXPECT_NEAR(last.level_dbfs, -15 - 17, 0.3);
    for (const float snr : last.snr_db) EXPECT_NEAR(snr, 25, 2);
}

// 20 ppm of 1.8 GHz that the terminal has not corrected; wide offsets are looked for every other
// time.
TEST_F(phy_uplink, finds_a_terminal_that_is_36_khz_off_and_2_km_away_at_6_db) {
    for (const double cfo_hz : {-36e3, 36e3}) {
        SCOPED_TRACE(cfo_hz);
        receiver_ = uplink_receiver({.cell = cell, .terminal = terminal});
        connect({.snr_db = 6, .cfo_hz = cfo_hz, .delay = 102});
        const int before = heard;
        run(150);
        EXPECT_GE(heard - before, 80);
        EXPECT_NEAR(last.cfo_hz, cfo_hz, 8);
        EXPECT_NEAR(last.timing_samples, 102, 0.5);
        EXPECT_EQ(receiver_.counts().synchronisations, 1U);
    }
    EXPECT_GT(forms, heard * 9 / 10);
    EXPECT_EQ(wrong_forms, 0);
}

TEST_F(phy_uplink, hears_neither_the_base_station_nor_another_terminal_nor_another_cell) {
    connect({.snr_db = 30});
    const std::vector<slot_modulator_config> others{
        {.cell = cell}, {.cell = cell, .terminal = 2}, {.cell = 6, .terminal = terminal}};
    for (const auto& other : others) {
        modulator_ = slot_modulator(other);
        run(80);
        EXPECT_EQ(heard, 0);
    }
    // And the terminal's receiver does not take the uplink for a cell.
    modulator_ = slot_modulator({.cell = cell, .terminal = terminal});
    slot_receiver downlink({.cell = any_cell});
    int found = 0;
    for (int i = 0; i < 80; ++i, ++air_)
        downlink.process(
            sample(air_ * slot_samples), channel_->pass(modulate(make())),
            [&](const received_slot& r) { found += r.mode >= receiver_mode::synchronised; });
    EXPECT_EQ(found, 0);
}

TEST_F(phy_uplink, detects_frames_of_a_slot_whose_form_is_lost) {
    connect({.snr_db = 25});
    run(60);
    const int before = heard;
    // The control symbols are half those of one form and half those of another.
    for (int i = 0; i < 30; ++i) {
        sent_.push_back(make());
        auto x = modulate(sent_.back());
        sent_uplink other = make();
        const auto own = modulate(sent_.back(), false), foreign = modulate(other, false);
        for (std::size_t n = 0; n < x.size(); ++n) x[n] += 0.5F * (foreign[n] - own[n]);
        receive(x);
    }
    EXPECT_EQ(heard - before, 30);
    EXPECT_GE(receiver_.counts().forms_failed, 29U);
    EXPECT_GE(good_without_form, 5 * 28);
    EXPECT_EQ(wrong_forms, 0);
}

TEST_F(phy_uplink, loses_a_silent_terminal_and_finds_it_again) {
    connect({.snr_db = 20});
    run(40);
    const int before = heard;
    for (int i = 0; i < 200; ++i) {
        sent_.push_back({});
        receive(std::vector<cf32>(slot_samples));
    }
    EXPECT_EQ(receiver_.counts().losses, 1U);
    EXPECT_LE(heard - before, 40);  // until the receiver notices that the pilots are missing
    EXPECT_EQ(wrong_forms, 0);
    const int silent = heard;
    run(60);
    EXPECT_GE(heard - silent, 40);
    EXPECT_EQ(receiver_.counts().synchronisations, 2U);
}

TEST_F(phy_uplink, sends_the_form_alone_when_a_payload_has_the_wrong_size) {
    connect({.snr_db = 30});
    run(20);
    sent_uplink s = make();
    s.payload[0].pop_back();
    std::vector<cf32> out(slot_samples);
    std::array<std::span<const std::uint8_t>, nof_bins> views;
    for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
    EXPECT_FALSE(modulator_.work_uplink(slot(air_), s.form, s.units, views,
                                        std::span<cf32, slot_samples>(out)));
    s.units = {};
    sent_.push_back(s);
    const int before = forms;
    receive(out);
    EXPECT_EQ(forms, before + 1);
    EXPECT_EQ(wrong_forms, 0);
}

TEST_F(phy_uplink, allocates_nothing_while_it_runs) {
    connect({.snr_db = 15, .doppler_hz = 50});
    std::vector<cf32> out(slot_samples);
    long allocated = 0;
    for (int i = 0; i < 200; ++i, ++air_) {
        const auto s = make();
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
        const uplink_receiver::units_fn units = [&](sample, int) { return &s.units; };
        const uplink_receiver::on_slot_fn count = [&](const uplink_slot& r) {
            for (const auto& b : r.bins) {
                good += b.outcome == frame_outcome::good;
                bad += b.outcome == frame_outcome::bad;
            }
        };
        long before = wip::test::allocations;
        modulator_.work_uplink(slot(air_), s.form, s.units, views,
                               std::span<cf32, slot_samples>(out));
        allocated += wip::test::allocations - before;
        const auto x = channel_->pass(out);
        before = wip::test::allocations;
        receiver_.process(sample(air_ * slot_samples), x, units, count);
        allocated += wip::test::allocations - before;
    }
    EXPECT_GT(good, 50);
    EXPECT_GT(bad, 50);
    EXPECT_EQ(allocated, 0);
}

TEST(uplink_configuration, refuses_cells_and_terminals_that_do_not_exist) {
    EXPECT_THROW(uplink_receiver({.cell = 64}), std::invalid_argument);
    EXPECT_THROW(uplink_receiver({.cell = any_cell}), std::invalid_argument);
    EXPECT_THROW(uplink_receiver({.terminal = 8}), std::invalid_argument);
    EXPECT_THROW(uplink_receiver({.terminal = -1}), std::invalid_argument);
    EXPECT_THROW(slot_modulator({.terminal = 8}), std::invalid_argument);
    EXPECT_THROW(slot_modulator({.terminal = -1}), std::invalid_argument);
}

}  // namespace
