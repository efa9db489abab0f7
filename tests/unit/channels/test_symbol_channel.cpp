// SPDX-License-Identifier: GPL-3.0-or-later
// The symbol channel against theory: frame error rates of the eight constellations, the gain of
// combining, bits in error, and that a rerun is the same to the bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "bin/symbol_channel.h"
#include "link/symbol_error.h"

using namespace wip;
using namespace wip::bin_model;

namespace {

// One station's frames: every bin of a slot carries a frame of k bits/symbol with zero payload.
class SymbolChannel : public testing::TestWithParam<error_method> {
protected:
    void make(bool combining = true, std::uint64_t seed = 1,
              eight_points eight = eight_points::star) {
        channel_ = std::make_unique<symbol_channel>(
            symbol_channel_config{GetParam(), combining, link_profile::wipemu, seed, eight, {}});
        next_ = 0;
        sn_ = 0;
    }
    slot_report send_new(int k, float snr_db) {
        slot_plan p = plan(k);
        for (auto& g : p.grant.bins) g.sn = sn_++;
        p.grant.first_new_sn = p.grant.bins[0].sn;
        return carry(p, snr_db);
    }
    // The frames of `last` that failed, again, at the same modulation.
    slot_report send_again(const slot_report& last, float snr_db) {
        slot_plan p = plan(0);
        p.grant.first_new_sn = sn_;
        p.grant.window_edge = 1000;
        for (std::size_t b = 0; b < nof_bins; ++b) {
            if (last.outcome[b] != frame_outcome::bad) continue;
            p.grant.bins[b] = last.grant.bins[b];
            p.grant.bins[b].retransmission = true;
            p.payload[b].assign(108, 0);
        }
        return carry(p, snr_db);
    }
    static int count(const slot_report& r, frame_outcome what) {
        return static_cast<int>(std::count(r.outcome.begin(), r.outcome.end(), what));
    }
    static int bits_set(const std::vector<std::uint8_t>& bytes) {
        int n = 0;
        for (const auto b : bytes) n += std::popcount(b);
        return n;
    }
    symbol_channel& channel() { return *channel_; }
    const slot_symbols& kept() const { return channel_->kept(); }

private:
    slot_plan plan(int k) {
        slot_plan p;
        p.air = slot(next_++);
        for (std::size_t b = 0; k > 0 && b < nof_bins; ++b) {
            p.grant.bins[b].bits_per_symbol = static_cast<std::uint8_t>(k);
            p.payload[b].assign(
                static_cast<std::size_t>(frame_payload_bytes(link_profile::wipemu, k)), 0);
        }
        return p;
    }
    slot_report carry(slot_plan& p, float snr_db) {
        std::array<float, nof_bins> snr;
        snr.fill(std::pow(10.0F, snr_db / 10));
        slot_report r;
        channel_->carry(p, snr, r);
        return r;
    }

    std::unique_ptr<symbol_channel> channel_;
    std::int64_t next_ = 0;
    wire_sn sn_ = 0;
};

// SNR at which the frame error rate of k is `rate`.
float snr_for(int k, double rate, eight_points eight = eight_points::star) {
    const symbol_error e(k, eight);
    float db = -10;
    while (1 - e.frame_ok(std::pow(10, db / 10)) > rate) db += 0.01F;
    return db;
}

// n trials of probability p: within five standard deviations.
void expect_rate(int hits, int n, double p, const std::string& what) {
    const double sigma = std::sqrt(p * (1 - p) / n);
    EXPECT_NEAR(static_cast<double>(hits) / n, p, 5 * sigma) << what;
}

}  // namespace

TEST_P(SymbolChannel, FramesFailAsOftenAsTheorySays) {
    for (int k = 1; k <= 8; ++k)
        for (const double rate : {0.02, 0.3, 0.9}) {
            make();
            const float db = snr_for(k, rate);
            const double p = 1 - symbol_error(k).frame_ok(std::pow(10, db / 10));
            int bad = 0;
            constexpr int slots = 800;
            for (int i = 0; i < slots; ++i) bad += count(send_new(k, db), frame_outcome::bad);
            expect_rate(bad, slots * nof_bins, p,
                        std::to_string(k) + " bits at " + std::to_string(db) + " dB");
        }
}

TEST_P(SymbolChannel, TheOtherSetsOfEightPointsFailAsOftenAsTheirOwnTheorySays) {
    for (const auto eight : {eight_points::cross, eight_points::rectangle})
        for (const double rate : {0.02, 0.3, 0.9}) {
            make(true, 1, eight);
            const float db = snr_for(3, rate, eight);
            const double p = 1 - symbol_error(3, eight).frame_ok(std::pow(10, db / 10));
            int bad = 0;
            constexpr int slots = 800;
            for (int i = 0; i < slots; ++i) bad += count(send_new(3, db), frame_outcome::bad);
            expect_rate(bad, slots * nof_bins, p, std::to_string(db) + " dB");
            EXPECT_GT(db, snr_for(3, rate));  // the star is better
        }
}

TEST_P(SymbolChannel, ASymbolIsWrongAsOftenAsTheorySaysInFramesThatFail) {
    // With a Gray mapping most wrong symbols have one wrong bit; with BPSK all have.
    make();
    const float db = snr_for(1, 0.5);
    const double ser = symbol_error(1).rate(std::pow(10, db / 10));
    int wrong = 0;
    constexpr int slots = 1000;
    for (int i = 0; i < slots; ++i) {
        const auto r = send_new(1, db);
        for (std::size_t b = 0; b < nof_bins; ++b) {
            const int n = bits_set(r.payload[b]);
            EXPECT_EQ(n > 0, r.outcome[b] == frame_outcome::bad);
            wrong += n;
        }
    }
    expect_rate(wrong, slots * nof_bins * payload_symbols_per_bin, ser, "bits in error");
}

TEST_P(SymbolChannel, TheSecondCopyOfEqualStrengthIsWorthThreeDecibels) {
    // Right at the second, unconditionally: fails at first and right combined, plus right at first.
    // A frame whose combination is right was, but for a vanishing share, wrong alone by chance
    // only; P(right by two) is bounded by theory on both sides.
    for (const int k : {1, 2, 3, 4, 6, 8}) {
        make();
        const float db = snr_for(k, 0.9);
        const double twice = symbol_error(k).frame_ok(2 * std::pow(10, db / 10));
        const double once = symbol_error(k).frame_ok(std::pow(10, db / 10));
        int right = 0, all = 0;
        for (int i = 0; i < 800; ++i) {
            const auto first = send_new(k, db);
            const auto second = send_again(first, db);
            EXPECT_EQ(std::popcount(second.combined), count(first, frame_outcome::bad));
            right += count(first, frame_outcome::good) + count(second, frame_outcome::good);
            all += nof_bins;
        }
        const double rate = static_cast<double>(right) / all;
        const double margin = 5 * std::sqrt(0.25 / all);
        EXPECT_GE(rate, twice - margin) << k;
        EXPECT_LE(rate, twice + once * (1 - twice) + margin) << k;
    }
}

TEST_P(SymbolChannel, CopiesAreWeightedByTheirSnr) {
    // A copy 20 dB below the other adds 1 % to the SNR: a plain mean would lose 3 dB instead.
    make();
    const float db = snr_for(4, 0.5);
    int right = 0, all = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto first = send_new(4, db - 20);
        const auto second = send_again(first, db);
        right += count(second, frame_outcome::good);
        all += count(first, frame_outcome::bad);
    }
    expect_rate(right, all, symbol_error(4).frame_ok(1.01 * std::pow(10, db / 10)), "combined");
}

TEST_P(SymbolChannel, WithoutCombiningEveryCopyIsOnItsOwn) {
    make(false);
    const float db = snr_for(2, 0.6);
    int right = 0, all = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto first = send_new(2, db);
        const auto second = send_again(first, db);
        EXPECT_EQ(second.combined, 0U);
        right += count(second, frame_outcome::good);
        all += count(first, frame_outcome::bad);
    }
    expect_rate(right, all, symbol_error(2).frame_ok(std::pow(10, db / 10)), "second copy alone");
}

TEST_P(SymbolChannel, AnotherModulationIsAnotherUnit) {
    make();
    const auto first = send_new(4, -10);
    auto as_other = first;
    for (auto& g : as_other.grant.bins) g.bits_per_symbol = 2;
    EXPECT_EQ(send_again(as_other, -10).combined, 0U);
    EXPECT_EQ(std::popcount(send_again(first, -10).combined), nof_bins);
}

TEST_P(SymbolChannel, ARerunIsTheSameToTheBit) {
    const auto run = [this](std::uint64_t seed) {
        make(true, seed);
        std::vector<std::uint8_t> all;
        for (int i = 0; i < 20; ++i) {
            const auto r = send_new(5, 18);
            for (const auto& p : r.payload) all.insert(all.end(), p.begin(), p.end());
            const auto again = send_again(r, 10);
            for (const auto o : again.outcome) all.push_back(static_cast<std::uint8_t>(o));
        }
        return all;
    };
    const auto first = run(7);
    EXPECT_EQ(first, run(7));
    EXPECT_NE(first, run(8));
}

TEST_P(SymbolChannel, TheSymbolsOfASlotAreKeptForWhoAsks) {
    make();
    send_new(2, 40);
    EXPECT_EQ(kept().made, 0U) << "nobody asked";
    channel().keep_symbols(true);
    send_new(2, 40);
    if (GetParam() == error_method::symbols) {
        EXPECT_EQ(kept().made, (1U << nof_bins) - 1);
        // 4-QAM at 40 dB: every symbol within a tenth of one of the four points.
        for (const auto& bin : kept().of_bin)
            for (const auto& p : bin) {
                EXPECT_NEAR(std::abs(p.real()), std::sqrt(0.5F), 0.1F);
                EXPECT_NEAR(std::abs(p.imag()), std::sqrt(0.5F), 0.1F);
            }
    } else {
        EXPECT_EQ(kept().made, 0U) << "frames decided by probability have no symbols";
        const auto failed = send_new(2, -10);
        EXPECT_EQ(std::popcount(kept().made), count(failed, frame_outcome::bad));
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, SymbolChannel,
                         testing::Values(error_method::symbols, error_method::computed),
                         [](const auto& p) {
                             return p.param == error_method::symbols ? "symbols" : "computed";
                         });
