// SPDX-License-Identifier: GPL-3.0-or-later
// Several terminals on one carrier (types/common_grant.h): each receiver takes the frames that are
// its own, and measures the whole band.
#include <gtest/gtest.h>

#include "phy_link.h"

namespace wip::phy::test {
namespace {

// The bins go to the terminals in turn. A slot has a full section for one terminal at most; there
// is no room for three.
struct shared_source {
    explicit shared_source(int terminals) : sn(static_cast<std::size_t>(terminals)) {}

    struct shared_slot {
        std::array<slot_grant, most_terminals> grant{};
        std::array<std::vector<std::uint8_t>, nof_bins> payload;
        std::array<std::size_t, nof_bins> owner{};
    };
    std::vector<wire_sn> sn;
    slot_source payloads{4, 9};
    int slots = 0;

    shared_slot make() {
        shared_slot s;
        for (std::size_t t = 0; t < sn.size(); ++t) {
            s.grant[t].first_new_sn = sn[t];
            s.grant[t].edge_said = static_cast<std::size_t>(slots % 8) == t;
            s.grant[t].window_edge = s.grant[t].edge_said ? 40 : 0;
        }
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const std::size_t t = (b + static_cast<std::size_t>(slots)) % sn.size();
            s.owner[b] = t;
            s.grant[t].bins[b].bits_per_symbol = 4;
            s.grant[t].bins[b].sn = sn[t]++;
            s.payload[b] = payloads.random_payload(4);
        }
        ++slots;
        return s;
    }
    std::vector<cf32> modulate(slot_modulator& m, const shared_slot& s, slot air) const {
        common_grant_sections sections{.frame_number = frame_number_of(air), .of = {}};
        for (std::size_t t = 0; t < sn.size(); ++t) sections.of[t] = &s.grant[t];
        std::array<std::span<const std::uint8_t>, nof_bins> views;
        for (std::size_t b = 0; b < nof_bins; ++b) views[b] = s.payload[b];
        std::vector<cf32> out(slot_samples);
        EXPECT_TRUE(m.work(air, sections, views, std::span<cf32, slot_samples>(out)));
        return out;
    }
};

TEST(phy_terminals, each_takes_its_own_bins_and_predicts_all) {
    constexpr int terminals = 3, slots = 120;
    shared_source source(terminals);
    slot_modulator modulator({.cell = 5, .control = control_kind::common_grant});
    struct receiver_end {
        std::unique_ptr<slot_receiver> receiver;
        sample_channel channel;
    };
    std::vector<receiver_end> ends;
    for (int t = 0; t < terminals; ++t)
        ends.push_back(
            {std::make_unique<slot_receiver>(slot_receiver_config{.cell = 5, .terminal = t}),
             sample_channel({.snr_db = 30.0 + t,
                             .cfo_hz = 700.0 * t,
                             .delay = 40 * t,
                             .seed = static_cast<std::uint32_t>(t + 1)})});
    std::vector<shared_source::shared_slot> sent;
    std::array<int, terminals> received{}, reported{};
    for (int i = 0; i < slots; ++i) {
        const slot air(60 + i);
        sent.push_back(source.make());
        const auto samples = source.modulate(modulator, sent.back(), air);
        for (std::size_t t = 0; t < terminals; ++t)
            ends[t].receiver->process(
                sample(std::int64_t{i} * slot_samples), ends[t].channel.pass(samples),
                [&](const received_slot& r) {
                    if (!r.locked || !r.grant_ok) return;
                    ++reported[t];
                    const auto& was = sent.at(static_cast<std::size_t>(r.slot_in_hyperframe - 60));
                    ASSERT_EQ(r.grant.first_new_sn, was.grant[t].first_new_sn);
                    for (std::size_t b = 0; b < nof_bins; ++b) {
                        EXPECT_NEAR(r.snr_db[b], 30.0 + static_cast<double>(t), 3);
                        EXPECT_NEAR(r.predicted_snr_db[b], 30.0 + static_cast<double>(t), 3);
                        if (was.owner[b] != t) {
                            ASSERT_EQ(r.bins[b].outcome, frame_outcome::unused);
                            continue;
                        }
                        ASSERT_EQ(r.bins[b].outcome, frame_outcome::good);
                        ASSERT_TRUE(std::ranges::equal(r.bins[b].payload, was.payload[b]));
                        ++received[t];
                    }
                });
    }
    for (std::size_t t = 0; t < terminals; ++t) {
        EXPECT_GT(reported[t], slots - 40) << t;
        EXPECT_GT(received[t], 8 * (slots - 40)) << t;
    }
}

// Frames are scrambled by terminal: in another one's bin nothing passes.
TEST(phy_terminals, a_terminal_of_another_kind_of_cell_or_number_receives_nothing) {
    shared_source source(1);
    slot_modulator modulator({.control = control_kind::common_grant});
    sample_channel channel({.snr_db = 30});
    slot_receiver alone({}), second({.terminal = 1});
    int locked_alone = 0, locked_second = 0, frames = 0;
    for (int i = 0; i < 60; ++i) {
        const slot air(i);
        const auto samples = channel.pass(source.modulate(modulator, source.make(), air));
        const sample first(std::int64_t{i} * slot_samples);
        alone.process(first, samples, [&](const received_slot& r) { locked_alone += r.grant_ok; });
        second.process(first, samples, [&](const received_slot& r) {
            locked_second += r.grant_ok;
            for (const auto& b : r.bins) frames += b.outcome != frame_outcome::unused;
        });
    }
    EXPECT_EQ(locked_alone, 0);
    EXPECT_GT(locked_second, 20);  // it receives the grants, none of which is for it
    EXPECT_EQ(frames, 0);
}

TEST(phy_terminals, numbers_out_of_range_are_refused) {
    EXPECT_THROW(slot_receiver({.terminal = 8}), std::invalid_argument);
    EXPECT_THROW(slot_receiver({.terminal = -2}), std::invalid_argument);
}

}  // namespace
}  // namespace wip::phy::test
