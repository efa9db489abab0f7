// SPDX-License-Identifier: GPL-3.0-or-later
// Acknowledged RLC: appendix C (Teyeb 2006) as it is told there, discard, reset, and random worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rlc_world.h"

namespace wip::umts {
namespace {

// The SYN of appendix C, two PDUs, both lost at TTI 488 with the poll in the last one; TCP gives up
// waiting and sends it again at TTI 786. TTIs in which the lost SDU and the one behind it come.
std::pair<std::int64_t, std::int64_t> appendix_c(std::int64_t poll_timer_ns) {
    am_config c;
    c.status_prohibit_ns = 0;
    c.poll_timer_ns = poll_timer_ns;
    rlc_world w(c, 5, 2);
    std::int64_t first = -1, second = -1;
    w.lose = [&](int from, const auto&) { return from == 0 && w.now == 488; };
    while (w.now < 1000) {
        if (w.now == 469) w.give(0, 60);
        if (w.now == 488) w.give(0, 60);
        if (w.now == 786) w.give(0, 60);
        w.step();
        if (first < 0 && w.sides[0].sdus.size() > 1 && w.sides[0].sdus[1].delivered > 0)
            first = w.now - 1;
        if (second < 0 && w.sides[0].sdus.size() > 2 && w.sides[0].sdus[2].delivered > 0)
            second = w.now - 1;
    }
    EXPECT_EQ(w.altered + w.unknown, 0);
    return {first, second};
}

TEST(Deadlock, AppendixCWithoutAPollTimerTheLostSdusWaitForTheNextOne) {
    const auto [first, second] = appendix_c(0);
    // Nothing happens for 2.98 s. Then there are three trips of 5 TTIs: that of the next SDU, that
    // of the status for which it polls, and that of the PDUs that are missing.
    EXPECT_EQ(first, 786 + 3 * 5);
    EXPECT_EQ(second, first) << "in sequence: it waits for the one before it";
}

TEST(Deadlock, AppendixCWithAPollTimerTheyDoNotWait) {
    const auto [first, second] = appendix_c(30 * tti_ns);
    // The last PDU again after 30 TTIs, status, and the other one: three trips. Then all is there.
    EXPECT_EQ(first, 488 + 30 + 3 * 5);
    EXPECT_EQ(second, 786 + 5);
}

TEST(Discard, AnSduIsGivenUpAfterMaxDatAndTheReceiverGoesOnWithoutIt) {
    am_config c;
    c.max_dat = 2;
    rlc_world w(c, 3, 4);
    pdu_content content(42);
    // PDU 3, in the middle of the first SDU, never gets through.
    w.lose = [&](int from, const auto& pdu) {
        return from == 0 && read_pdu(data_mode::acknowledged, pdu, content) && content.sn == 3;
    };
    for (int i = 0; i < 3; ++i) w.give(0, 400);
    w.run(200);
    EXPECT_TRUE(w.quiet());
    EXPECT_EQ(w.sides[0].sdus[0].discarded, 1);
    EXPECT_EQ(w.sides[1].arrived, (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(w.sides[0].entity->transmitter().counts().moves, 1U);
    EXPECT_EQ(w.sides[0].entity->counts().resets, 0U);
    EXPECT_EQ(w.altered + w.unknown, 0);
}

// The last PDU of all, which a status cannot ask for: polls repeat it until it is there, or max_dat
// ends that, too.
TEST(Discard, WhatPollsRepeatCountsOrNot) {
    for (const auto mode : {discard_mode::after_max_dat, discard_mode::reset})
        for (const bool counted : {false, true}) {
            am_config c;
            c.max_dat = 3;
            c.discard = mode;
            c.poll_counted = counted ? poll_counting::always : poll_counting::never;
            rlc_world w(c, 3, 4);
            pdu_content content(42);
            int times = 0;
            w.lose = [&](int from, const auto& pdu) {
                return from == 0 && read_pdu(data_mode::acknowledged, pdu, content) &&
                       content.sn == 2 && ++times <= 7;
            };
            w.give(0, 100);  // PDUs 0, 1, 2
            w.run(400);
            EXPECT_TRUE(w.quiet());
            EXPECT_EQ(times, counted ? 3 : 8);
            EXPECT_EQ(w.sides[0].sdus[0].discarded, counted ? 1 : 0);
            EXPECT_EQ(w.sides[0].sdus[0].delivered, counted ? 0 : 1);
            const bool reset = counted && mode == discard_mode::reset;
            EXPECT_EQ(w.sides[0].entity->counts().resets, reset ? 1U : 0U);
            w.lose = {};
            w.give(0, 100);
            w.run(20);
            EXPECT_EQ(w.sides[0].sdus[1].delivered, 1);
            EXPECT_EQ(w.altered + w.unknown, 0);
        }
}

TEST(Discard, AMoveThatIsLostIsSentAgainAndInTheEndThereIsAReset) {
    for (const bool always : {false, true}) {
        am_config c;
        c.max_dat = 1;
        c.max_mrw = 3;
        rlc_world w(c, 3, 4);
        pdu_content content(42);
        status_content s;
        int moves = 0;
        w.lose = [&](int from, const auto& pdu) {
            if (from != 0) return false;
            if (read_pdu(data_mode::acknowledged, pdu, content)) return content.sn == 1;
            return read_status(pdu, s) && s.move && (++moves == 1 || always);
        };
        for (int i = 0; i < 3; ++i) w.give(0, 100);
        w.run(400);
        EXPECT_TRUE(w.quiet());
        EXPECT_EQ(moves, always ? 3 : 2);
        EXPECT_EQ(w.sides[0].entity->counts().resets, always ? 1U : 0U);
        w.lose = {};
        w.give(0, 100);
        w.run(20);
        EXPECT_EQ(w.sides[0].sdus.back().delivered, 1) << "it works again";
        EXPECT_EQ(w.altered + w.unknown, 0);
    }
}

TEST(Discard, ByTimerWithPartsThatWereNeverSent) {
    am_config c;
    c.discard = discard_mode::timer;
    c.discard_ns = 20 * tti_ns;
    rlc_world w(c, 3, 1);
    w.lose = [&](int, const auto&) { return w.now < 40; };
    for (int i = 0; i < 4; ++i) w.give(0, 1400);
    w.run(60);
    w.give(0, 200);
    w.run(100);
    EXPECT_TRUE(w.quiet());
    for (int i = 0; i < 4; ++i)
        EXPECT_EQ(w.sides[0].sdus[static_cast<std::size_t>(i)].discarded, 1);
    EXPECT_EQ(w.sides[1].arrived, (std::vector<std::uint64_t>{4}));
    EXPECT_EQ(w.altered + w.unknown, 0);
}

// N_LENGTH has 4 bits, and a PDU may end more SDUs than it can name.
TEST(Discard, ByTimerOfMoreSdusThanAMoveCanNameOfOnePdu) {
    am_config c;
    c.pdu_bytes = 962;
    c.discard = discard_mode::timer;
    c.discard_ns = 60 * tti_ns;
    rlc_world w(c, 3, 1);
    w.lose = [&](int from, const auto&) { return from == 0 && w.now <= 60; };
    for (int i = 0; i < 24; ++i) w.give(0, 1400);
    for (int i = 0; i < 18; ++i) w.give(0, 40);
    w.run(35);
    w.give(0, 40);  // an SDU in the same PDU, which has time left
    w.run(400);
    EXPECT_TRUE(w.quiet());
    EXPECT_EQ(w.sides[0].entity->counts().resets, 0U);
    EXPECT_EQ(w.sides[0].sdus[41].discarded, 1);
    EXPECT_EQ(w.sides[0].sdus[42].delivered, 1);
    EXPECT_EQ(w.altered + w.unknown, 0);
}

TEST(Reset, AfterMaxDatInItsMode) {
    am_config c;
    c.discard = discard_mode::reset;
    c.max_dat = 3;
    rlc_world w(c, 3, 4);
    pdu_content content(42);
    bool lost_answer = false;
    w.lose = [&](int from, const auto& pdu) {
        if (const auto r = read_reset(pdu); r && r->type == control_type::reset_ack && !lost_answer)
            return lost_answer = true;  // the first answer
        return from == 0 && read_pdu(data_mode::acknowledged, pdu, content) && content.sn == 5;
    };
    // Others come behind it, so that it is missed each time.
    for (int i = 0; i < 30; ++i) {
        w.give(i % 2, 150);
        w.run(5);
        if (lost_answer) w.lose = {};
    }
    w.run(100);
    EXPECT_TRUE(w.quiet());
    EXPECT_EQ(w.sides[0].entity->counts().resets, 2U);
    EXPECT_EQ(w.sides[1].entity->counts().resets_taken, 1U);
    w.lose = {};
    w.give(0, 150);
    w.run(20);
    EXPECT_EQ(w.sides[0].sdus.back().delivered, 1);
    EXPECT_EQ(w.altered + w.unknown, 0);
}

// A sending side alone, with SDUs of zeros.
struct sender {
    explicit sender(const am_config& c)
        : pdu(static_cast<std::size_t>(c.pdu_bytes)),
          it(
              c, [this](std::uint64_t id, auto&&...) { EXPECT_TRUE(placed.insert(id).second); },
              [this](std::uint64_t id) { discarded.insert(id); }) {}
    bool give(std::uint64_t id, std::size_t bytes, std::int64_t now_ns = 0) {
        return it.on_sdu(std::vector<std::uint8_t>(bytes), id, now_ns);
    }
    bool send(std::int64_t now_ns = 0) { return it.next_pdu(pdu, {}, now_ns); }

    std::vector<std::uint8_t> pdu;
    std::set<std::uint64_t> placed, discarded;
    am_transmitter it;
};

TEST(Reset, WhatItGivesUpIsToldBehindAnSduThatExpiredUnsent) {
    am_config c;
    c.discard = discard_mode::timer;
    c.discard_ns = 100 * tti_ns;
    sender s(c);
    s.give(0, 39);
    s.send();
    s.give(1, 39);
    s.it.advance(c.discard_ns);
    s.give(2, 200, c.discard_ns);
    s.send(c.discard_ns);
    EXPECT_EQ(s.discarded, (std::set<std::uint64_t>{0, 1}));
    s.it.reset(1);
    EXPECT_EQ(s.discarded, (std::set<std::uint64_t>{0, 1, 2}));
    EXPECT_EQ(s.it.held_sdus(), 0U);
}

// 22 SDUs to a PDU: many more are sent and not acknowledged than there are PDUs in the window.
TEST(Queue, IsWhatWaitsHoweverManySdusAPduHolds) {
    am_config c;
    c.pdu_bytes = 962;
    c.window = 8;
    c.queue_sdus = 30;
    sender s(c);
    std::uint64_t given = 0;
    for (int pdus = 1; pdus <= 60; ++pdus) {
        for (; s.it.waiting_sdus() < 30; ++given) ASSERT_TRUE(s.give(given, 40)) << given;
        EXPECT_FALSE(s.give(given, 40));
        ASSERT_TRUE(s.send());
        status_content heard;
        heard.ack = static_cast<std::uint16_t>(std::max(0, pdus - 6));
        ASSERT_TRUE(s.it.on_status(heard));
    }
    EXPECT_GT(s.it.held_sdus(), 6 * 22U);
    EXPECT_EQ(s.placed.size(), given - s.it.waiting_sdus());
    EXPECT_EQ(*s.placed.rbegin() + 1, s.placed.size());  // each once
    EXPECT_TRUE(s.discarded.empty());
}

// --- random worlds ---

struct drawn {
    am_config config;
    double loss[2];
    double late, twice;
    int delay, per_tti;
};

drawn draw(std::uint64_t seed) {
    splitmix64 r(seed);
    const auto up_to = [&](int n) { return static_cast<int>(r.next() % static_cast<unsigned>(n)); };
    drawn d;
    auto& c = d.config;
    c.pdu_bytes = 8 + up_to(up_to(4) == 0 ? 300 : 60);
    constexpr int windows[] = {1, 2, 7, 64, 512, 2047};
    c.window = windows[up_to(6)];
    c.largest_sdu = 1 + up_to(400);
    c.queue_sdus = 1 + up_to(40);
    c.in_sequence = up_to(2) == 0;
    c.special_he = up_to(2) == 0;
    c.poll_last = c.poll_last_retransmitted = true;
    c.poll_pdus = up_to(2) * up_to(9);
    c.poll_sdus = up_to(2) * up_to(3);
    c.poll_window_percent = up_to(2) * 50;
    c.poll_period_ns = up_to(3) == 0 ? (1 + up_to(30)) * tti_ns : 0;
    c.poll_timer_ns = (5 + up_to(40)) * tti_ns;
    c.poll_prohibit_ns = up_to(2) * up_to(10) * tti_ns;
    c.status_missing = up_to(2) == 0;
    c.status_period_ns = up_to(3) == 0 ? (1 + up_to(30)) * tti_ns : 0;
    c.status_prohibit_ns = up_to(2) * up_to(20) * tti_ns;
    c.format = static_cast<missing_format>(up_to(3));
    c.discard = static_cast<discard_mode>(up_to(4));
    c.max_dat = 1 + up_to(6);
    c.discard_ns = (5 + up_to(100)) * tti_ns;
    c.mrw_timer_ns = (5 + up_to(30)) * tti_ns;
    c.reset_timer_ns = (5 + up_to(30)) * tti_ns;
    c.max_reset = 32;
    d.loss[0] = 0.3 * up_to(100) / 100;
    d.loss[1] = 0.3 * up_to(100) / 100;
    d.late = up_to(3) == 0 ? 0.1 : 0;
    d.twice = up_to(3) == 0 ? 0.1 : 0;
    d.delay = 1 + up_to(8);
    d.per_tti = 1 + up_to(12);
    c.poll_counted = up_to(2) == 0 ? poll_counting::always : poll_counting::never;
    return d;
}

void check_world(std::uint64_t seed) {
    SCOPED_TRACE("world " + std::to_string(seed));
    const drawn d = draw(seed);
    rlc_world w(d.config, d.delay, d.per_tti);
    splitmix64 r(seed + 1'000'000);
    const auto hits = [&](double p) { return static_cast<double>(r.next() >> 11) * 0x1p-53 < p; };
    bool fair = false;
    w.lose = [&](int from, const auto&) { return !fair && hits(d.loss[from]); };
    w.late = [&] { return !fair && hits(d.late) ? 1 : 0; };
    w.twice = [&] { return !fair && hits(d.twice); };
    for (int t = 0; t < 400; ++t) {
        for (int s = 0; s < 2; ++s)
            if (hits(0.2))
                w.give(s, 1 + static_cast<int>(r.next() %
                                               static_cast<unsigned>(d.config.largest_sdu)));
        w.step();
    }
    fair = true;
    for (int t = 0; t < 20'000 && !w.quiet(); ++t) w.step();
    EXPECT_TRUE(w.quiet());
    w.run(50);
    EXPECT_EQ(w.altered + w.unknown, 0);
    const bool resets = w.sides[0].entity->counts().resets + w.sides[1].entity->counts().resets > 0;
    for (int s = 0; s < 2; ++s) {
        for (const auto& g : w.sides[s].sdus) {
            EXPECT_LE(g.delivered, 1);
            EXPECT_LE(g.discarded, 1);
            // A RESET takes what has been acknowledged and waits for its turn.
            if (!resets) {
                const bool may = d.config.discard != discard_mode::never;
                EXPECT_GE(g.delivered + (may ? g.discarded : 0), 1);
            }
        }
        const auto& arrived = w.sides[1 - s].arrived;
        if (d.config.in_sequence) {
            EXPECT_TRUE(std::ranges::is_sorted(arrived));
        }
        EXPECT_EQ(w.sides[s].entity->counts().malformed, 0U);
        EXPECT_EQ(w.sides[s].entity->receiver().counts().malformed, 0U);
        EXPECT_EQ(w.sides[s].entity->receiver().counts().held, 0);
        EXPECT_FALSE(w.sides[s].entity->failed());
    }
}

TEST(RandomWorlds, EverySduArrivesUnalteredOrIsGivenUp) {
    for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed)
        check_world(seed);
}

}  // namespace
}  // namespace wip::umts
