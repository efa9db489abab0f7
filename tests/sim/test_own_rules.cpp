// SPDX-License-Identifier: GPL-3.0-or-later
// Rules of a user's own in the place of the built-in ones: what they are shown, and that the link
// does as they decide. users_world checks the invariants in every slot.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "link/own_sharing.h"
#include "users_world.h"

namespace wip::sim {
namespace {

users_config three_users(scheduling_kind kind) {
    users_config c;
    c.cell.users = 3;
    c.cell.scheduling = kind;
    c.cell.averaging_slots = 200;
    c.mean_snr_db = {8, 14, 20};
    return c;
}

// Proportional fair with what openwip/extension.h shows and nothing else.
class proportional_fair final : public scheduler_port {
public:
    void share(openwip_slot& slot) override {
        const int n = slot.users;
        mean_.resize(static_cast<std::size_t>(n));
        for (int u = 0; u < n; ++u) {
            double& mean = mean_[static_cast<std::size_t>(u)];
            mean += 1.0 / slot.cell->averaging_slots * (slot.user[u].acknowledged_bits - mean);
        }
        struct offer {
            double value;
            int user, bin;
        };
        std::vector<offer> offers;
        for (int i = 0; i < n; ++i) {
            const int u = (turn_ + i) % n;
            if (openwip_wants(&slot.user[u]) == 0) continue;
            for (int b = 0; b < OPENWIP_BINS; ++b)
                offers.push_back({slot.user[u].expected_bits[b] /
                                      std::max(mean_[static_cast<std::size_t>(u)], 1e-3),
                                  u, b});
        }
        turn_ = (turn_ + 1) % n;
        std::ranges::stable_sort(offers,
                                 [](const offer& a, const offer& b) { return a.value > b.value; });
        for (const offer& o : offers)
            if (slot.nof_given < slot.bins && openwip_is_free(&slot, o.bin) != 0 &&
                openwip_wants(&slot.user[o.user]) != 0)
                openwip_give(&slot, o.user, o.bin);
    }

private:
    std::vector<double> mean_;
    int turn_ = 0;
};

class scripted_scheduler final : public scheduler_port {
public:
    std::function<void(openwip_slot&)> work;
    void share(openwip_slot& slot) override { work(slot); }
};

class scripted_rule final : public adaptation_port {
public:
    std::function<void(openwip_report&)> work;
    void choose(openwip_report& report) override { work(report); }
};

struct outcome {
    std::vector<double> bits;
    std::vector<std::int64_t> bins;
    std::vector<std::uint64_t> delivered;
    bool operator==(const outcome&) const = default;
};

outcome run(const users_config& config, scheduler_port* scheduler, adaptation_port* rule) {
    users_world w(config);
    w.cell().use(scheduler, rule);
    // Bursts, so that bins are also left over, and a saturated user beside them.
    w.saturate({false, true, false});
    for (int burst = 0; burst < 40; ++burst) {
        w.give(0, 3, 700);
        w.give(2, 5, 1500);
        w.run(37);
    }
    outcome o;
    for (int u = 0; u < 3; ++u) {
        o.bits.push_back(w.bits(u));
        o.bins.push_back(w.bins_used(u));
        o.delivered.push_back(w.delivered(u));
    }
    return o;
}

TEST(OwnScheduler, ProportionalFairOfTheHeaderIsTheBuiltInOneExactly) {
    for (const bool packing : {true, false})
        for (const double losses : {0.0, 0.05}) {
            auto c = three_users(scheduling_kind::proportional_fair);
            c.cell.link.packing = packing;
            c.grant_loss = c.feedback_loss = losses;
            proportional_fair own;
            const outcome built_in = run(c, nullptr, nullptr);
            // The built-in rule that is set is one that would share the bins out otherwise.
            c.cell.scheduling = scheduling_kind::round_robin;
            EXPECT_EQ(run(c, &own, nullptr), built_in) << packing << losses;
            EXPECT_NE(run(c, nullptr, nullptr), built_in);
            EXPECT_GT(built_in.delivered[0], 50U);
        }
}

TEST(OwnScheduler, ItIsShownTheUsersOfTheSlotAndItsBinsAreUsed) {
    users_world w(three_users(scheduling_kind::best));
    scripted_scheduler own;
    int slots = 0;
    double acknowledged = 0;
    own.work = [&](openwip_slot& s) {
        ++slots;
        EXPECT_EQ(s.users, 3);
        EXPECT_EQ(s.bins, 10);
        EXPECT_EQ(s.nof_given, 0);
        EXPECT_EQ(s.cell->frame_bits[3], 3 * 108 - 24);
        acknowledged += s.user[1].acknowledged_bits;
        for (int b = 0; b < OPENWIP_BINS; ++b) {
            EXPECT_LE(s.user[1].expected_bits[b], s.cell->frame_bits[s.user[1].bits_per_symbol[b]]);
            EXPECT_GE(s.user[1].bits_per_symbol[b], 1);
        }
        if (openwip_wants(&s.user[1]) != 0) openwip_give(&s, 1, 7);
    };
    w.cell().use(&own, nullptr);
    w.saturate({true, true, true});
    w.run(500);
    EXPECT_EQ(slots, 500);
    EXPECT_EQ(w.bins_used(0), 0);
    EXPECT_GT(w.bins_used(1), 400);
    EXPECT_LE(w.bins_used(1), 500);
    EXPECT_GT(acknowledged, 0);
    EXPECT_LE(acknowledged, w.bits(1));
    // Without the user's rule the built-in one shares out the bins again.
    w.cell().use(nullptr, nullptr);
    w.run(100);
    EXPECT_GT(w.bins_used(0), 100);
}

TEST(OwnScheduler, GivingTakesWhatTheBinCarriesOffWhatWaits) {
    openwip_cell cell = cell_of({}, 1, 1500);
    openwip_user user{};
    user.hears = 1;
    user.pieces = 2;
    user.piece_bits[0] = cell.frame_bits[4];
    user.piece_bits[1] = cell.frame_bits[4] + 4;
    std::ranges::fill(user.bits_per_symbol, std::uint8_t{4});
    openwip_slot slot{};
    slot.users = 1, slot.bins = 10, slot.user = &user, slot.cell = &cell;
    openwip_give(&slot, 0, 3);
    EXPECT_EQ(user.pieces, 1);
    EXPECT_EQ(openwip_is_free(&slot, 3), 0);
    EXPECT_EQ(openwip_is_free(&slot, 4), 1);
    EXPECT_EQ(openwip_is_free(&slot, 25), 0);
    openwip_give(&slot, 0, 4);
    EXPECT_EQ(user.piece_bits[0], 4);
    EXPECT_EQ(openwip_wants(&user), 1);
    openwip_give(&slot, 0, 5);
    EXPECT_EQ(openwip_wants(&user), 0);
    // Wrong numbers are kept for the caller, who says so.
    openwip_give(&slot, 7, 26);
    EXPECT_EQ(slot.nof_given, 4);
    EXPECT_EQ(slot.given[3].user, 7);
    for (int i = 0; i < 40; ++i) openwip_give(&slot, 0, 0);
    EXPECT_EQ(slot.nof_given, 44);
}

TEST(OwnAdaptation, ARuleThatTakesTheTablesWordIsTheBuiltInOne) {
    auto c = three_users(scheduling_kind::proportional_fair);
    c.grant_loss = c.feedback_loss = 0.05;
    scripted_rule rule;
    int reports = 0;
    rule.work = [&](openwip_report&) { ++reports; };
    EXPECT_EQ(run(c, nullptr, &rule), run(c, nullptr, nullptr));
    EXPECT_EQ(reports, 3 * 40 * 37);
}

TEST(OwnAdaptation, FramesHaveTheModulationThatItChoosesAndItLearnsWhatBecameOfThem) {
    auto c = three_users(scheduling_kind::round_robin);
    c.feedback_loss = 0.02;
    users_world w(c);
    scripted_rule rule;
    std::array<std::uint64_t, 3> sent{}, received{};
    std::array<std::int64_t, 3> last{};
    last.fill(-1000);
    rule.work = [&](openwip_report& r) {
        const auto u = static_cast<std::size_t>(r.user);
        EXPECT_GT(r.slot, last[u]);
        last[u] = r.slot;
        for (int b = 0; b < OPENWIP_BINS; ++b) {
            EXPECT_EQ(r.bits_per_symbol[b], r.table_bits_per_symbol[b]);
            sent[u] += r.sent_bits_per_symbol[b] != 0;
            received[u] += r.received[b];
            if (r.sent_bits_per_symbol[b] != 0 && r.retransmissions[b] == 0) {
                EXPECT_EQ(r.sent_bits_per_symbol[b], 2 + r.user);
            }
            r.bits_per_symbol[b] = static_cast<std::uint8_t>(2 + r.user);
        }
    };
    w.cell().use(nullptr, &rule);
    w.saturate({true, true, true});
    w.run(600);
    for (int u = 0; u < 3; ++u) {
        const auto& s = w.cell().user(u).statistics();
        const auto n = static_cast<std::size_t>(u);
        EXPECT_EQ(received[n], s.frames_acknowledged);
        EXPECT_EQ(sent[n], s.frames_acknowledged + s.frames_failed);
        EXPECT_GT(s.modulation[static_cast<std::size_t>(2 + u)], 500U);
    }
}

TEST(OwnAdaptation, AFixedModulationIsStrongerThanIt) {
    auto c = three_users(scheduling_kind::round_robin);
    users_world w(c);
    scripted_rule rule;
    rule.work = [](openwip_report& r) { std::ranges::fill(r.bits_per_symbol, std::uint8_t{5}); };
    w.cell().use(nullptr, &rule);
    c.cell.link.modulation = 3;
    w.reconfigure(c.cell);
    w.saturate({true, true, true});
    w.run(200);
    EXPECT_GT(w.cell().user(2).statistics().modulation[3], 100U);
    EXPECT_EQ(w.cell().user(2).statistics().modulation[5], 0U);
}

}  // namespace
}  // namespace wip::sim
