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
        c.coherence = 1;  // the channel does not fade
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
        w.run(10);  // slots that were planned before the terminal was known to be gone
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

// One grant for all: types/common_grant.h.
users_config together(scheduling_kind kind, std::vector<double> mean_snr_db, int most_served = 2) {
    users_config c = cell(kind, std::move(mean_snr_db));
    c.cell.most_served = most_served;
    return c;
}

TEST(common_grant_cell, under_every_rule_every_packet_arrives_though_grants_and_feedback_are_lost) {
    for (const auto kind : every_kind)
        for (const int served : {1, 4}) {
            auto c = together(kind, {8, 14, 20, 30, 11, 17}, served);
            c.cell.link.bins = nof_bins;
            c.coherence = 0.8;  // no fade lasts for thirty retransmissions
            c.grant_loss = 0.1;
            c.feedback_loss = 0.1;
            c.cell.link.max_retransmissions = 30;
            users_world w(c);
            w.saturate(std::vector<bool>(6, true));
            w.run(150);
            ASSERT_TRUE(w.drain());
            for (int u = 0; u < 6; ++u) {
                EXPECT_EQ(w.delivered(u), w.accepted(u)) << u;
                EXPECT_EQ(w.cell().user(u).statistics().frames_dropped, 0U);
                // Under `max_rate` the far ones wait until the near ones have nothing.
                EXPECT_GT(w.delivered(u), 5U) << scheduling_names[static_cast<std::size_t>(kind)];
            }
        }
}

// A window edge that moves without frames is sent in a grant; without it, data that was given up
// would block the rest.
TEST(common_grant_cell, what_is_given_up_holds_up_nothing_else) {
    auto c = together(scheduling_kind::round_robin, {5, 5, 5});
    c.cell.link.max_retransmissions = 0;
    c.cell.link.modulation = 4;
    users_world w(c);
    for (int u = 0; u < 3; ++u) w.give(u, 30, 200);
    ASSERT_TRUE(w.drain());
    w.run(60);
    for (int u = 0; u < 3; ++u) {
        const auto& s = w.cell().user(u).statistics();
        EXPECT_GT(s.frames_dropped, 0U);
        EXPECT_EQ(w.delivered(u), s.sent.packets);
    }
}

TEST(common_grant_cell, a_terminal_that_starts_again_is_told_where_it_is_and_touches_no_other) {
    auto c = together(scheduling_kind::proportional_fair, {20, 20, 20, 20});
    users_world w(c);
    w.saturate({true, true, true, true});
    w.run(300);
    std::array<std::uint64_t, 4> before{};
    for (int i = 0; i < 10; ++i) {
        w.restart_terminal(2);
        w.run(60);
        const auto now = w.delivered(2);
        EXPECT_GT(now, before[2]);
        before[2] = now;
    }
    ASSERT_TRUE(w.drain());
    for (const int u : {0, 1, 3}) EXPECT_EQ(w.delivered(u), w.accepted(u));
}

users_config full_band(scheduling_kind kind, int users, int most_served) {
    users_config c =
        together(kind, std::vector<double>(static_cast<std::size_t>(users), 16.0), most_served);
    c.cell.link.bins = nof_bins;
    c.coherence = 0.9;
    return c;
}

TEST(common_grant_cell, round_robin_gives_equal_shares_where_a_slot_serves_a_quarter_of_the_users) {
    users_world w(full_band(scheduling_kind::round_robin, 8, 2));
    w.saturate(std::vector<bool>(8, true));
    w.run(2000);
    double sum = 0, squares = 0;
    for (int u = 0; u < 8; ++u) {
        sum += w.bits(u);
        squares += w.bits(u) * w.bits(u);
    }
    EXPECT_GT(sum * sum / 8 / squares, 0.99);  // Jain's fairness index
}

// Whoever comes first in the grant finds the most room for its retransmissions: all in turn, also
// where the same two always share a slot.
TEST(common_grant_cell, room_for_retransmissions_is_shared_alike) {
    for (const int users : {2, 4, 8}) {
        auto c = full_band(scheduling_kind::fixed, users, 2);
        c.mean_snr_db.assign(static_cast<std::size_t>(users), 12);
        users_world w(c);
        w.saturate(std::vector<bool>(static_cast<std::size_t>(users), true));
        w.run(1500);
        double least = w.bits(0), most = w.bits(0);
        for (int u = 1; u < users; ++u) {
            least = std::min(least, w.bits(u));
            most = std::max(most, w.bits(u));
        }
        EXPECT_GT(least, 0.8 * most) << users;
    }
}

// Two users find room in the grant for what they send again, whatever share of the frames fails
// (15 % here where the bins are not chosen by SNR).
TEST(common_grant_cell, two_users_get_what_they_get_with_grants_of_their_own) {
    for (const auto kind : every_kind) {
        std::array<double, 2> bits{};
        for (const int served : {0, 2}) {
            users_world w(full_band(kind, 2, served));
            w.saturate({true, true});
            w.run(1000);
            bits[static_cast<std::size_t>(served / 2)] = w.bits(0) + w.bits(1);
            EXPECT_LT(w.cell().crowded_out(), 10U);
        }
        EXPECT_NEAR(bits[1] / bits[0], 1, 0.02) << scheduling_names[static_cast<std::size_t>(kind)];
    }
}

// Where bins are chosen by SNR few frames fail, and four find room.
TEST(common_grant_cell, four_users_with_the_best_bins_get_what_they_get_with_grants_of_their_own) {
    for (const auto kind : {scheduling_kind::best, scheduling_kind::proportional_fair}) {
        std::array<double, 2> bits{};
        for (const int served : {0, 4}) {
            users_world w(full_band(kind, 4, served));
            w.saturate(std::vector<bool>(4, true));
            w.run(1000);
            for (int u = 0; u < 4; ++u) bits[static_cast<std::size_t>(served / 4)] += w.bits(u);
        }
        EXPECT_NEAR(bits[1] / bits[0], 1, 0.02) << scheduling_names[static_cast<std::size_t>(kind)];
    }
}

// More fails here than four lists have room for (docs/explanation/mac.md): the scheduler serves
// fewer users then, and what has failed does not pile up.
TEST(common_grant_cell, a_larger_limit_never_yields_less_however_much_fails) {
    struct yield {
        double bits = 0, waiting = 0;
    };
    const auto yield_of = [](scheduling_kind kind, int users, bool alike, int limit) {
        auto c = full_band(kind, users, limit);
        for (int u = 0; u < users && !alike; ++u)
            c.mean_snr_db[static_cast<std::size_t>(u)] = 22 - 12.0 * u / (users - 1);
        c.coherence = 0.97;
        c.frame_loss = 0.06;
        users_world w(c);
        w.saturate(std::vector<bool>(static_cast<std::size_t>(users), true));
        double sent_again = 0;
        for (int i = 0; i < 900; ++i) {
            w.run(1);
            for (const slot_plan& plan : w.plans())
                sent_again += static_cast<double>(std::ranges::count_if(
                    plan.grant.bins,
                    [](const bin_grant& b) { return b.bits_per_symbol != 0 && b.retransmission; }));
        }
        yield y;
        for (int u = 0; u < users; ++u) {
            const auto& s = w.cell().user(u).statistics();
            y.bits += w.bits(u);
            y.waiting += static_cast<double>(s.frames_failed - s.frames_dropped);
        }
        y.waiting -= sent_again;
        return y;
    };
    for (const auto kind :
         {scheduling_kind::best, scheduling_kind::max_rate, scheduling_kind::proportional_fair})
        for (const int users : {4, 8})
            for (const bool alike : {true, false}) {
                const yield two = yield_of(kind, users, alike, 2);
                for (const int limit : {4, 8}) {
                    const yield more = yield_of(kind, users, alike, limit);
                    const std::string which =
                        std::string(scheduling_names[static_cast<std::size_t>(kind)]) + ", " +
                        std::to_string(users) + (alike ? " alike" : " unlike") + ", limit " +
                        std::to_string(limit);
                    EXPECT_GT(more.bits, 0.98 * two.bits) << which;
                    // No more than the failures of a few slots; without the rule hundreds.
                    EXPECT_LT(more.waiting, 50) << which;
                }
            }
}

// A terminal that has nothing to receive but a window edge gets its section also where the lists of
// the others leave no room.
TEST(common_grant_cell, an_edge_is_told_though_the_lists_of_the_others_are_long) {
    auto c = full_band(scheduling_kind::round_robin, 3, 3);
    c.frame_loss = 0.5;
    c.cell.link.max_retransmissions = 2;  // some frames are dropped, and the edge moves over them
    users_world w(c);
    w.saturate({true, true, false});
    w.give(2, 20, 200);
    w.run(300);
    EXPECT_TRUE(w.cell().user(2).idle());
    EXPECT_GT(w.cell().user(2).statistics().frames_dropped, 0U);
    EXPECT_FALSE(w.cell().user(2).wants_section());
}

TEST(common_grant_cell, more_users_than_it_has_sections_are_refused) {
    EXPECT_THROW(users_world(together(scheduling_kind::best, std::vector<double>(9, 16.0))),
                 std::invalid_argument);
    EXPECT_THROW(users_world(together(scheduling_kind::best, {16, 16}, 9)), std::invalid_argument);
    users_world w(together(scheduling_kind::best, {16, 16}));
    auto apart = cell(scheduling_kind::best, {16, 16}).cell;
    EXPECT_THROW(w.reconfigure(apart), std::invalid_argument);
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
