// SPDX-License-Identifier: GPL-3.0-or-later
// Several users of one cell in virtual time, without errors: what each has is known, PDU by PDU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "umts/cell.h"
#include "umts_bearers.h"

namespace wip::umts {
namespace {

constexpr std::int64_t ms = 1'000'000;

struct world {
    world(const char* profile, const cell_config& c) : it(of_profile(profile), c) {
        for (int u = 0; u < it.users(); ++u) full.insert(u);
    }
    // The queue of the users in `full` is never empty.
    void run_to(std::int64_t until) {
        const std::vector<std::uint8_t> packet(1500, 0x45);
        for (; now < until; now += 5 * ms) {
            for (const int u : full)
                while (it.user(u).downlink().sums().queued.packets < 100)
                    it.downlink().offer(packet, now, u);
            it.advance(now + 5 * ms - 1);
        }
    }
    std::vector<std::uint64_t> pdus() const {
        std::vector<std::uint64_t> n;
        for (int u = 0; u < it.users(); ++u)
            n.push_back(it.user(u).sender(bearer::way::down).counts().pdus);
        return n;
    }
    // kbit/s of each from now until then.
    std::vector<double> rates(std::int64_t until) {
        const auto before = pdus();
        const auto from = now;
        run_to(until);
        const auto after = pdus();
        std::vector<double> kbps;
        for (std::size_t u = 0; u < after.size(); ++u)
            kbps.push_back(static_cast<double>(after[u] - before[u]) *
                           it.user(0).config().profile.block_down * 8 /
                           (static_cast<double>(until - from) / ms));
        return kbps;
    }

    cell it;
    std::set<int> full;
    std::int64_t now = 0;
};

// Compares rates over 40 s. The tolerance is one PDU that falls on the other side of either end,
// and the time that a PDU of the slowest user takes of the cell: 320 bits at 50 kbit/s, 6.4 ms.
void expect_rates(const std::vector<double>& got, const std::vector<double>& kbps) {
    ASSERT_EQ(got.size(), kbps.size());
    for (std::size_t u = 0; u < kbps.size(); ++u)
        EXPECT_NEAR(got[u], kbps[u], 2 * (320 + 6.4 * kbps[u]) / 40e3) << u;
}

// Alone they would have 500, 50 and 250 kbit/s, but for the bearer's 384.
cell_config three(sharing method) {
    return {.users = 3,
            .kbps = 500,
            .method = method,
            .users_db = {0, -10, 10 * std::log10(0.5)},
            .classes = {}};
}

TEST(Sharing, EqualThroughputIsTheSameForAll) {
    world w("umts-384", three(sharing::equal_throughput));
    w.run_to(10'000 * ms);
    const double each = 1 / (1 / 500.0 + 1 / 50.0 + 1 / 250.0);
    expect_rates(w.rates(50'000 * ms), {each, each, each});
}

TEST(Sharing, EqualResourceIsAThirdOfWhatEachHadAlone) {
    world w("umts-384", three(sharing::equal_resource));
    w.run_to(10'000 * ms);
    expect_rates(w.rates(50'000 * ms), {500 / 3.0, 50 / 3.0, 250 / 3.0});
}

TEST(Sharing, MaxCiLeavesTheNextWhatTheBestsBearerCannotCarry) {
    world w("umts-384", three(sharing::max_ci));
    w.run_to(10'000 * ms);
    expect_rates(w.rates(50'000 * ms), {384, 0, 250 * (1 - 384 / 500.0)});
}

TEST(Sharing, WithoutALimitEveryBearerHasItsRate) {
    for (const auto method :
         {sharing::equal_throughput, sharing::equal_resource, sharing::max_ci}) {
        cell_config c = three(method);
        c.kbps = 0;
        world w("umts-64", c);
        w.run_to(10'000 * ms);
        expect_rates(w.rates(50'000 * ms), {64, 64, 64});
    }
}

TEST(Sharing, WhoWasSilentSavesNothingUpAndLeavesNothingUnused) {
    world w("umts-384", three(sharing::equal_resource));
    w.full = {0, 2};
    w.run_to(10'000 * ms);
    expect_rates(w.rates(50'000 * ms), {250, 0, 125});
    w.full = {0, 1, 2};
    w.run_to(51'000 * ms);
    expect_rates(w.rates(91'000 * ms), {500 / 3.0, 50 / 3.0, 250 / 3.0});
}

TEST(Sharing, MethodAndLimitChangeWhileItRuns) {
    world w("umts-384", three(sharing::equal_throughput));
    w.run_to(10'000 * ms);
    w.it.reconfigure(three(sharing::equal_resource));
    expect_rates(w.rates(50'000 * ms), {500 / 3.0, 50 / 3.0, 250 / 3.0});
    cell_config c = three(sharing::equal_resource);
    c.kbps = 1000;
    w.it.reconfigure(c);
    w.run_to(51'000 * ms);
    expect_rates(w.rates(91'000 * ms), {1000 / 3.0, 100 / 3.0, 500 / 3.0});
}

TEST(Sharing, WhatASlowerCellOwesIsNotWaitedForByAFasterOne) {
    cell_config c{.users = 1, .kbps = 1, .users_db = {-40}, .classes = {}};
    world w("umts-384", c);
    w.run_to(1'000 * ms);
    c.kbps = 200;
    c.users_db = {0};
    w.it.reconfigure(c);
    w.run_to(2'000 * ms);
    expect_rates(w.rates(42'000 * ms), {200});
}

TEST(Classes, AnEarlierOneGoesFirst) {
    using enum traffic_class;
    world w("umts-64", {.users = 4,
                        .kbps = 150,
                        .method = sharing::equal_throughput,
                        .users_db = {},
                        .classes = {background, streaming, interactive, conversational}});
    w.run_to(10'000 * ms);
    expect_rates(w.rates(50'000 * ms), {0, 64, 22, 64});
    // From now on the second user offers nothing, and its queue empties.
    w.full = {0, 2, 3};
    w.run_to(80'000 * ms);
    expect_rates(w.rates(120'000 * ms), {22, 0, 64, 64});
}

TEST(Cell, OfOneUserIsItsBearer) {
    bearer_config c = of_profile("umts-384");
    c.errors_down.rate = 0.1;
    bearer alone(c);
    cell shared(c, {});
    std::vector<std::int64_t> first, second;
    const auto into = [](std::vector<std::int64_t>& due) {
        return [&due](const link_packet& p) {
            due.push_back(p.due_ns);
            return 0;
        };
    };
    alone.downlink().deliver_to(into(first));
    shared.downlink().deliver_to(into(second));
    const std::vector<std::uint8_t> packet(1000, 0x45);
    for (std::int64_t t = 0; t < 20'000 * ms; t += 37 * ms)
        for (packet_link* l : {&alone.downlink(), &shared.downlink()}) {
            l->advance(t);
            l->offer(packet, t);
        }
    EXPECT_GT(first.size(), 400U);
    EXPECT_EQ(first, second);
}

// A bearer keeps its next wake-up until something changes. Whoever asks for it, even inside of a
// delivery or while a setting changes, does not change what comes when.
TEST(WakeUps, AreTheSameHoweverOftenAndWheneverTheyAreAskedFor) {
    struct event {
        std::int64_t due_ns;
        int user;
        bool up;
        bool operator==(const event&) const = default;
    };
    const auto run = [](bool curious, rlc_mode mode) {
        bearer_config b = of_profile("umts-384");
        b.mode = mode;
        b.errors_down.rate = b.errors_up.rate = 0.1;
        b.control.always_dch = false;
        cell_config shared;
        shared.users = 5;
        cell c(b, shared);
        std::vector<event> all;
        std::int64_t asked = 0;
        const auto ask = [&] {
            if (!curious) return;
            for (int u = 0; u < c.users(); ++u) asked ^= c.user(u).next_wakeup();
            asked ^= c.next_wakeup();
        };
        const std::vector<std::uint8_t> packet(700, 0x45), answer(40, 0x45);
        c.downlink().deliver_to([&](const link_packet& p) {
            ask();
            all.push_back({p.due_ns, p.tag, false});
            // Into another bearer than the one that delivers.
            c.uplink().offer(answer, p.due_ns, (p.tag + 1) % 5);
            ask();
            return 0;
        });
        c.uplink().deliver_to([&](const link_packet& p) {
            ask();
            all.push_back({p.due_ns, p.tag, true});
            return 0;
        });
        for (std::int64_t t = 0; t < 20'000 * ms; t += 7 * ms) {
            ask();
            // All are silent for 6 s, so that the states of their RRC change.
            if (t < 6000 * ms || t > 12'000 * ms)
                c.downlink().offer(packet, t, static_cast<int>(t / ms) % 5);
            if (t == 2800 * ms) c.user(2).set_rate(64, 64);
            if (t == 3500 * ms)
                for (int u = 0; u < 5; ++u)
                    c.user(u).set_episodes({{3600 * ms, 400 * ms}}, {{4200 * ms, 300 * ms}});
            ask();
            c.advance(t + 7 * ms - 1);
        }
        return all;
    };
    for (const rlc_mode mode : {rlc_mode::acknowledged, rlc_mode::unacknowledged}) {
        const auto plain = run(false, mode), curious = run(true, mode);
        EXPECT_GT(plain.size(), 1000U);
        EXPECT_TRUE(plain == curious);
    }
}

}  // namespace
}  // namespace wip::umts
