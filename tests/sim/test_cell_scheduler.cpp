// SPDX-License-Identifier: GPL-3.0-or-later
// N terminals in one cell: who gets which bins. users_world checks the invariants in every slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>

#include "link/frame_success.h"
#include "link/scheduling_view.h"
#include "link/switch_table.h"
#include "users_world.h"

namespace wip::sim {
namespace {

users_config cell(scheduling_kind kind, std::vector<double> mean_snr_db) {
    users_config c;
    c.cell.users = static_cast<int>(mean_snr_db.size());
    c.cell.scheduling = kind;
    c.mean_snr_db = std::move(mean_snr_db);
    return c;
}

constexpr std::array every_kind{scheduling_kind::fixed, scheduling_kind::best,
                                scheduling_kind::round_robin, scheduling_kind::max_rate,
                                scheduling_kind::proportional_fair};

struct result {
    std::vector<double> bits;
    std::vector<std::int64_t> bins;
    double sum() const { return std::accumulate(bits.begin(), bits.end(), 0.0); }
    double sum_of_logs() const {
        double s = 0;
        for (const double b : bits) s += std::log(std::max(b, 1.0));
        return s;
    }
};

result saturated(scheduling_kind kind, const std::vector<double>& mean_snr_db, int slots = 3000) {
    users_world w(cell(kind, mean_snr_db));
    w.saturate(std::vector<bool>(mean_snr_db.size(), true));
    w.run(slots);
    result r;
    for (int u = 0; u < w.cell().users(); ++u) {
        r.bits.push_back(w.bits(u));
        r.bins.push_back(w.bins_used(u));
    }
    return r;
}

TEST(CellScheduler, UnderEveryRuleEveryPacketOfEveryUserArrivesUnaltered) {
    for (const auto kind : every_kind)
        for (const bool packing : {true, false}) {
            auto c = cell(kind, {8, 14, 20, 30});
            c.cell.link.packing = packing;
            c.cell.link.profile = packing ? link_profile::radio : link_profile::wipemu;
            users_world w(c);
            for (int round = 0; round < 20; ++round) {
                for (int u = 0; u < 4; ++u) w.give(u, 1 + u, 100 + 400 * u);
                w.run(30);
            }
            ASSERT_TRUE(w.drain()) << static_cast<int>(kind);
            for (int u = 0; u < 4; ++u)
                EXPECT_EQ(w.delivered(u), 20U * static_cast<unsigned>(1 + u));
        }
}

TEST(CellScheduler, RoundRobinGivesEveryoneTheSameNumberOfBinsWhateverTheChannel) {
    const auto r = saturated(scheduling_kind::round_robin, {5, 10, 20});
    // 10 bins a slot to 3 users; a slot or two of difference before all have been heard of.
    for (const auto bins : r.bins) EXPECT_NEAR(static_cast<double>(bins), 10000, 20);
    EXPECT_GT(r.bits[2], 5 * r.bits[0]);
}

TEST(CellScheduler, StaticBinsStayWithTheirUserAndEmptyWithoutData) {
    users_world w(cell(scheduling_kind::fixed, {20, 20, 20, 20}));
    w.saturate({true, false, true, true});
    for (int i = 0; i < 200; ++i) {
        w.run(1);
        for (int u = 0; u < 4; ++u)
            for (int b = 0; b < nof_bins; ++b)
                EXPECT_EQ(w.cell().given(u) >> b & 1U, b < 10 && b % 4 == u ? 1U : 0U);
    }
    EXPECT_EQ(w.bins_used(1), 0);
    EXPECT_GT(w.bins_used(0), 500);
}

TEST(CellScheduler, BinsOfUsersWithoutDataGoToTheOthers) {
    for (const auto kind : {scheduling_kind::best, scheduling_kind::round_robin,
                            scheduling_kind::max_rate, scheduling_kind::proportional_fair}) {
        users_world w(cell(kind, {15, 15, 15}));
        w.run(10);
        w.saturate({false, true, false});
        w.run(100);
        EXPECT_EQ(w.bins_used(1), 1000) << static_cast<int>(kind);
        EXPECT_EQ(w.bins_used(0) + w.bins_used(2), 0);
    }
}

TEST(CellScheduler, NobodyGetsMoreBinsThanWhatWaitsForHimFills) {
    for (const auto kind : {scheduling_kind::best, scheduling_kind::round_robin,
                            scheduling_kind::max_rate, scheduling_kind::proportional_fair}) {
        auto c = cell(kind, {40, 40});  // always 8 bits a symbol: 840 payload bits a bin
        c.cell.link.modulation = 8;
        c.coherence = 1;  // nothing fades
        users_world w(c);
        w.run(10);
        w.give(0, 1, 300);  // 2400 bits: 3 bins
        w.give(1, 1, 200);  // 1600 bits: 2 bins
        w.run(1);
        EXPECT_EQ(std::popcount(w.cell().given(0)), 3) << static_cast<int>(kind);
        EXPECT_EQ(std::popcount(w.cell().given(1)), 2) << static_cast<int>(kind);
    }
}

// Every slot, against all there is to give: no choice of 10 bins and users has a larger sum.
TEST(CellScheduler, MaxRateGivesTheLargestSumOfRates) {
    users_world w(cell(scheduling_kind::max_rate, {12, 16, 20}));
    w.run(10);
    w.saturate({true, true, true});
    const switch_table table(link_config{}.switch_table, link_profile::radio);
    const auto rate = [&](float snr) {
        const int k = table.bits_per_symbol(db(snr));
        return frame_payload_bits(link_profile::radio, k) * frame_success(k, db(snr));
    };
    for (int i = 0; i < 300; ++i) {
        w.run(1);
        std::vector<double> best;
        double given = 0;
        for (int b = 0; b < nof_bins; ++b) {
            double top = 0;
            for (int u = 0; u < 3; ++u) {
                top = std::max(top, rate(w.predicted(u, b)));
                if ((w.cell().given(u) >> b & 1U) != 0) given += rate(w.predicted(u, b));
            }
            best.push_back(top);
        }
        std::sort(best.begin(), best.end(), std::greater<>());
        EXPECT_NEAR(given, std::accumulate(best.begin(), best.begin() + 10, 0.0), 1e-6);
    }
}

TEST(CellScheduler, MaxRateHasTheLargestThroughputAndProportionalFairTheLargestSumOfLogarithms) {
    const std::vector<double> means{8, 13, 18, 23};
    std::map<scheduling_kind, result> r;
    for (const auto kind : every_kind) r[kind] = saturated(kind, means);
    const auto& most = r[scheduling_kind::max_rate];
    const auto& fair = r[scheduling_kind::proportional_fair];
    const auto& turns = r[scheduling_kind::round_robin];
    for (const auto& [kind, other] : r) {
        if (kind != scheduling_kind::max_rate) {
            EXPECT_GT(most.sum(), 1.1 * other.sum());
        }
        // `best` shares bins equally and each user takes his good ones: as good to within the dice.
        if (kind == scheduling_kind::best) {
            EXPECT_GT(fair.sum_of_logs(), other.sum_of_logs() - 0.05);
        } else if (kind != scheduling_kind::proportional_fair) {
            EXPECT_GT(fair.sum_of_logs(), other.sum_of_logs() + 0.5) << static_cast<int>(kind);
        }
    }
    // Everyone is better off than with the same number of bins in turn: each gets his good ones.
    for (std::size_t u = 0; u < means.size(); ++u)
        EXPECT_GT(fair.bits[u], 1.2 * turns.bits[u]) << u;
    // ... and nobody is left out, as the far user is by max_rate.
    EXPECT_LT(most.bits[0], 0.1 * fair.bits[0]);
}

TEST(CellScheduler, EqualUsersGetEqualSharesOfEverythingUnderProportionalFair) {
    const auto r = saturated(scheduling_kind::proportional_fair, {16, 16, 16, 16, 16}, 6000);
    for (const double b : r.bits) EXPECT_NEAR(b / (r.sum() / 5), 1, 0.05);
}

TEST(CellScheduler, OneUserWithBestGetsWhatABaseStationAloneGives) {
    auto c = cell(scheduling_kind::best, {14});
    users_world w(c);
    w.saturate({true});
    w.run(20);
    for (int i = 0; i < 300; ++i) {
        w.run(1);
        std::vector<std::pair<float, int>> order;
        for (int b = 0; b < nof_bins; ++b) order.emplace_back(-w.predicted(0, b), b);
        std::stable_sort(order.begin(), order.end());
        std::uint32_t best = 0;
        for (int k = 0; k < 10; ++k) best |= 1U << order[static_cast<std::size_t>(k)].second;
        EXPECT_EQ(w.cell().given(0), best);
    }
}

TEST(CellScheduler, ATerminalThatDoesNotHearGetsNothingAndLosesNothing) {
    for (const auto kind : every_kind) {
        users_world w(cell(kind, {20, 20}));
        w.saturate({true, true});
        w.run(100);
        w.set_locked(1, false);
        w.run(10);  // what was sent before it was known to be gone
        const auto before = w.bins_used(1);
        w.run(100);
        EXPECT_EQ(w.bins_used(1), before);
        w.set_locked(1, true);
        ASSERT_TRUE(w.drain());
        const auto& s = w.cell().user(1).statistics();
        EXPECT_EQ(w.delivered(1), s.in.packets);
    }
}

TEST(CellScheduler, AFailedFrameIsSentAgainBeforeItsUsersNewOnes) {
    for (const auto kind : every_kind) {
        auto c = cell(kind, {11, 11});
        c.cell.link.modulation = 2;  // so that no failed frame is cut, and they can be counted
        users_world w(c);
        w.saturate({true, true});
        std::array<std::uint64_t, 2> again{};
        for (int i = 0; i < 500; ++i) {
            w.run(1);
            for (std::size_t u = 0; u < 2; ++u) {
                bool fresh = false;
                for (const auto& g : w.plans()[u].grant.bins) {
                    again[u] += g.retransmission ? 1 : 0;
                    fresh = fresh || (g.bits_per_symbol != 0 && !g.retransmission);
                }
                const auto& stats = w.cell().user(static_cast<int>(u)).statistics();
                ASSERT_LE(again[u], stats.frames_failed);
                if (fresh && stats.grant_overflows == 0) {
                    EXPECT_EQ(again[u], stats.frames_failed) << static_cast<int>(kind);
                }
            }
        }
        EXPECT_GE(again[0] + again[1], 10U);
    }
}

TEST(CellScheduler, SettingsThatMakeNoSenseAreNamed) {
    const auto refused = [](auto change, const std::string& what) {
        cell_config c;
        change(c);
        try {
            cell_scheduler s(c);
            FAIL() << what;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
        }
    };
    refused([](auto& c) { c.users = 0; }, "users of the cell is 0; valid: 1..100");
    refused([](auto& c) { c.users = 101; }, "users of the cell is 101");
    refused([](auto& c) { c.averaging_slots = 0; }, "averaging_slots is 0");
    refused([](auto& c) { c.scheduling = static_cast<scheduling_kind>(9); },
            "scheduling.method is 9");
    refused([](auto& c) { c.link.bins = 26; }, "bins is 26");
    cell_scheduler s(cell_config{});
    cell_config two;
    two.users = 2;
    EXPECT_THROW(s.reconfigure(two), std::invalid_argument);
    EXPECT_THROW(s.on_feedback(1, {}), std::out_of_range);
    EXPECT_EQ(scheduling_of("proportional_fair"), scheduling_kind::proportional_fair);
    EXPECT_EQ(scheduling_of("static"), scheduling_kind::fixed);
    EXPECT_EQ(scheduling_of("fair"), std::nullopt);
}

TEST(cell_scheduler, the_strongest_bins_come_first_and_of_equal_ones_the_lower) {
    std::mt19937 draw(1);
    for (int n = 0; n < 200; ++n) {
        // There are few values, so that many are equal; without signal they are very low.
        std::array<float, nof_bins> snr_db{};
        for (auto& x : snr_db) x = static_cast<float>(draw() % 9) * 10.0F - 60.0F;
        std::array<bin_index, nof_bins> wanted{};
        for (std::size_t b = 0; b < nof_bins; ++b) wanted[b] = bin_index(b);
        std::ranges::stable_sort(wanted, std::ranges::greater{},
                                 [&](bin_index b) { return snr_db[b.n()]; });
        EXPECT_EQ(strongest_first(snr_db), wanted);
    }
}

}  // namespace
}  // namespace wip::sim
