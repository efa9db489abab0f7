// SPDX-License-Identifier: GPL-3.0-or-later
// The behaviours that the RFCs of the queue disciplines state, and what all of them have in common.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "queue/codel.h"
#include "queue/dualpi2.h"
#include "queue/fq_codel.h"
#include "queue/packet_queue.h"
#include "queue/pie.h"
#include "queue_packets.h"

namespace wip {
namespace {

using test::ms;
using test::udp;
using test::watched_queue;

constexpr queue_kind all_kinds[] = {queue_kind::drop_tail, queue_kind::codel, queue_kind::fq_codel,
                                    queue_kind::pie, queue_kind::dualpi2};

struct no_drops final : drop_port {
    void drop(queued_packet&&, queue_drop) override { ++count; }
    int count = 0;
};

TEST(PacketQueue, EveryPacketIsOutWaitingOrDroppedWhateverTheDiscipline) {
    for (const queue_kind kind : all_kinds) {
        std::mt19937 dice(7);
        watched_queue q({.kind = kind}, 40);
        std::int64_t now = 0;
        for (int i = 0; i < 20000; ++i) {
            now += dice() % (2 * ms);
            if (dice() % 5 < 3)
                q.push(udp(100 + dice() % 1400, static_cast<ecn>(dice() % 4), dice() % 5), now);
            else
                q.pop(now);
            ASSERT_TRUE(q.exact()) << static_cast<int>(kind) << " at " << i;
            ASSERT_LE(q.queue.waiting().packets, 40U);
        }
        while (q.pop(now)) {
        }
        EXPECT_TRUE(q.queue.empty());
        EXPECT_TRUE(q.exact());
        EXPECT_GT(q.out.packets, 1000U);
        std::vector<std::uint64_t> seen;
        for (const auto& e : q.events) {
            seen.push_back(e.order);
            if (e.marked) {
                EXPECT_EQ(read_ecn(e.data), ecn::ce);
            }
        }
        std::ranges::sort(seen);
        EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end());
        EXPECT_EQ(seen.size(), q.in.packets);
        // Only drop tail never signals.
        const auto signals = std::ranges::count_if(q.events, [](const auto& e) {
            return e.marked || (e.dropped && e.why == queue_drop::managed);
        });
        EXPECT_EQ(signals > 0, kind != queue_kind::drop_tail);
    }
}

TEST(PacketQueue, TheDisciplineChangesWhilePacketsWaitAndNoneIsLost) {
    for (const queue_kind from : all_kinds)
        for (const queue_kind to : all_kinds) {
            watched_queue q({.kind = from});
            for (int i = 0; i < 30; ++i)
                q.push(udp(500, i % 2 == 0 ? ecn::ect_1 : ecn::not_ect, i % 3), i);
            q.queue.reconfigure({.kind = to});
            EXPECT_EQ(q.queue.waiting().packets, 30U);
            EXPECT_TRUE(q.exact());
            while (q.pop(1 * ms / 2)) {
            }
            EXPECT_EQ(q.out.packets, 30U);
        }
    watched_queue q({.kind = queue_kind::fq_codel});
    for (int i = 0; i < 10; ++i) q.push(udp(500, ecn::not_ect, i % 2), i);
    q.queue.reconfigure({.kind = queue_kind::drop_tail});
    for (std::uint64_t i = 0; q.pop(1); ++i) EXPECT_EQ(q.events[i].order, i);
}

TEST(PacketQueue, DropTailRefusesWhatFindsNoRoom) {
    watched_queue q({}, 2);
    EXPECT_TRUE(q.push(udp(100), 0));
    EXPECT_TRUE(q.push(udp(100), 0));
    EXPECT_FALSE(q.push(udp(100), 0));
    EXPECT_EQ(q.events.at(0).why, queue_drop::full);
    EXPECT_TRUE(q.pop(1));
    EXPECT_TRUE(q.push(udp(100), 1));
}

TEST(PacketQueue, BadSettingsAreRefused) {
    const auto drop = [](const queued_packet&, queue_drop) {};
    EXPECT_THROW(packet_queue({.target_ms = 0.05}, drop), std::invalid_argument);
    EXPECT_THROW(packet_queue({.target_ms = NAN}, drop), std::invalid_argument);
    EXPECT_THROW(packet_queue({.kind = static_cast<queue_kind>(9)}, drop), std::invalid_argument);
}

// --- CoDel, RFC 8289 ---

// A queue that stays `sojourn` long: a packet comes and one leaves every millisecond.
void hold(watched_queue& q, std::int64_t sojourn, std::int64_t from, std::int64_t until,
          ecn field = ecn::not_ect) {
    for (std::int64_t t = from; t < until; t += ms) {
        q.push(udp(1000, field), t);
        while (!q.queue.empty() && t - q.queue.first_arrival_ns() >= sojourn) q.pop(t);
    }
}
std::vector<std::int64_t> drops_of(const watched_queue& q) {
    std::vector<std::int64_t> at;
    for (const auto& e : q.events)
        if (e.dropped && e.why == queue_drop::managed) at.push_back(e.at_ns);
    return at;
}

TEST(Codel, BelowTheTargetNothingIsDropped) {
    watched_queue q({.kind = queue_kind::codel});
    hold(q, 4 * ms, 0, 3000 * ms);
    EXPECT_GT(q.out.packets, 2900U);
    EXPECT_EQ(q.dropped.packets, 0U);
}

TEST(Codel, TheFirstDropComesAnIntervalAfterTheTargetWasPassed) {
    watched_queue q({.kind = queue_kind::codel});
    hold(q, 20 * ms, 0, 400 * ms);
    const auto at = drops_of(q);
    ASSERT_FALSE(at.empty());
    // The first packet leaves at 20 ms, having waited for 20 ms.
    EXPECT_EQ(at[0], 120 * ms);
}

TEST(Codel, AShortBurstIsLetThrough) {
    watched_queue q({.kind = queue_kind::codel});
    hold(q, 30 * ms, 0, 100 * ms);
    for (std::int64_t t = 100 * ms; q.pop(t); t += ms / 4) {
    }
    hold(q, 2 * ms, 200 * ms, 1000 * ms);
    EXPECT_EQ(q.dropped.packets, 0U);
}

TEST(Codel, DropsComeByTheInverseSquareRootOfTheirCount) {
    watched_queue q({.kind = queue_kind::codel});
    // The queue never gets shorter, so that the period of drops does not end.
    std::int64_t at_next = 0;
    for (std::int64_t t = 0; t < 1500 * ms; t += ms / 10) {
        if (t >= at_next) {
            for (int i = 0; i < 3; ++i) q.push(udp(1000), t);
            at_next += ms;
        }
        if (t >= 20 * ms && t % ms == 0) q.pop(t);
    }
    const auto at = drops_of(q);
    ASSERT_GT(at.size(), 20U);
    double want = static_cast<double>(at[0]);
    for (std::size_t n = 1; n < 20; ++n) {
        want += static_cast<double>(codel_interval_ns) / std::sqrt(static_cast<double>(n));
        EXPECT_NEAR(static_cast<double>(at[n]), want, 1.0 * ms) << n;
    }
}

TEST(Codel, AQueueOfOnePacketIsLeftAlone) {
    watched_queue q({.kind = queue_kind::codel});
    // A link so slow that every packet waits for 50 ms although at most one waits behind it.
    q.push(udp(1000), 0);
    for (std::int64_t t = 50 * ms; t < 5000 * ms; t += 50 * ms) {
        q.push(udp(1000), t);
        q.pop(t);
    }
    EXPECT_EQ(q.dropped.packets, 0U);
}

TEST(Codel, ASenderThatReactsToMarksIsMarkedInsteadAtTheSameTimes) {
    watched_queue dropping({.kind = queue_kind::codel}), marking({.kind = queue_kind::codel});
    hold(dropping, 20 * ms, 0, 130 * ms);
    hold(marking, 20 * ms, 0, 130 * ms, ecn::ect_0);
    ASSERT_EQ(drops_of(dropping), std::vector<std::int64_t>{120 * ms});
    EXPECT_EQ(marking.dropped.packets, 0U);
    std::vector<std::int64_t> marks;
    for (const auto& e : marking.events)
        if (e.marked) marks.push_back(e.at_ns);
    EXPECT_EQ(marks, std::vector<std::int64_t>{120 * ms});
    EXPECT_EQ(marking.queue.marked().packets, 1U);
}

TEST(Codel, ATargetOfOnesOwnHolds) {
    watched_queue q({.kind = queue_kind::codel, .target_ms = 50});
    hold(q, 40 * ms, 0, 1000 * ms);
    EXPECT_EQ(q.dropped.packets, 0U);
    hold(q, 60 * ms, 1000 * ms, 1400 * ms);
    EXPECT_GT(q.dropped.packets, 0U);
}

// --- FQ-CoDel, RFC 8290 ---

// Two flows, one offers `times` as much as the other; the link carries a packet every millisecond.
std::array<std::uint64_t, 2> share(queue_kind kind, int times) {
    watched_queue q({.kind = kind}, 1000);
    for (std::int64_t t = 0; t < 4000 * ms; t += ms) {
        for (int i = 0; i < times; ++i) q.push(udp(1000, ecn::not_ect, 1), t);
        q.push(udp(1000, ecn::not_ect, 2), t);
        q.pop(t);
    }
    std::array<std::uint64_t, 2> out{};
    for (const auto& e : q.events)
        if (!e.dropped) out[e.data[21] - 1U] += e.data.size();
    return out;
}

TEST(FqCodel, TwoFlowsShareTheLinkEvenlyWhateverTheyOffer) {
    const auto fair = share(queue_kind::fq_codel, 5);
    EXPECT_NEAR(static_cast<double>(fair[0]) / static_cast<double>(fair[1]), 1, 0.05);
    // The same flows without it: by what they offer.
    const auto unfair = share(queue_kind::drop_tail, 5);
    EXPECT_GT(static_cast<double>(unfair[0]) / static_cast<double>(unfair[1]), 4);
}

TEST(FqCodel, BytesAreSharedNotPackets) {
    watched_queue q({.kind = queue_kind::fq_codel}, 2000);
    for (int i = 0; i < 300; ++i) q.push(udp(1500, ecn::not_ect, 1), 0);
    for (int i = 0; i < 900; ++i) q.push(udp(300, ecn::not_ect, 2), 0);
    std::array<std::uint64_t, 2> out{};
    for (int i = 0; i < 300; ++i) q.pop(ms);
    for (const auto& e : q.events) out[e.data[21] - 1U] += e.data.size();
    EXPECT_NEAR(static_cast<double>(out[0]) / static_cast<double>(out[1]), 1, 0.05);
}

TEST(FqCodel, ASparseFlowGoesPastTheQueueOfABusyOne) {
    watched_queue q({.kind = queue_kind::fq_codel}, 1000);
    for (int i = 0; i < 50; ++i) q.push(udp(1000, ecn::not_ect, 1), 0);
    q.pop(ms);
    q.pop(2 * ms);
    q.push(udp(100, ecn::not_ect, 2), 2 * ms);
    q.pop(3 * ms);
    EXPECT_EQ(q.events.back().data[21], 2);
    EXPECT_EQ(q.events.back().sojourn_ns, ms);
}

TEST(FqCodel, WhenThereIsNoRoomTheFattestFlowLosesFromItsHead) {
    watched_queue q({.kind = queue_kind::fq_codel}, 20);
    for (int i = 0; i < 18; ++i) q.push(udp(1000, ecn::not_ect, 1), i);
    for (int i = 0; i < 2; ++i) q.push(udp(1000, ecn::not_ect, 2), 20 + i);
    EXPECT_TRUE(q.push(udp(1000, ecn::not_ect, 2), 30));
    ASSERT_EQ(q.events.size(), 9U);  // half of 18
    for (std::uint64_t i = 0; i < 9; ++i) {
        EXPECT_EQ(q.events[i].order, i);
        EXPECT_EQ(q.events[i].why, queue_drop::full);
        EXPECT_EQ(q.events[i].data[21], 1);
    }
}

TEST(FqCodel, OnlyTheFlowWithTheStandingQueueIsSignalled) {
    watched_queue q({.kind = queue_kind::fq_codel}, 1000);
    for (std::int64_t t = 0; t < 1000 * ms; t += ms) {
        q.push(udp(1000, ecn::not_ect, 1), t);
        if (t % (20 * ms) == 0) q.push(udp(100, ecn::not_ect, 2), t);
        if (t >= 30 * ms) q.pop(t);
    }
    int first = 0, second = 0;
    for (const auto& e : q.events)
        if (e.dropped) ++(e.data[21] == 1 ? first : second);
    EXPECT_GT(first, 3);
    EXPECT_EQ(second, 0);
}

// --- PIE, RFC 8033 ---

// The probability after a delay of `delay` has been held for so long, with bursts used up.
double pie_after(std::int64_t delay, std::int64_t until, std::int64_t step = ms) {
    no_drops drops;
    pie p(drops, 15 * ms, 1);
    queued_packet out;
    for (std::int64_t t = 0; t < until; t += step) {
        queued_packet in;
        in.data = udp(1000);
        in.arrived_ns = t;
        p.push(std::move(in), t, 100000);
        while (p.packets() > 0 && t - p.first_arrival_ns() >= delay) p.pop(t, out);
    }
    return p.probability();
}

TEST(Pie, TheProbabilityGrowsAboveTheTargetAndStaysZeroBelowIt) {
    EXPECT_EQ(pie_after(10 * ms, 5000 * ms), 0);
    const double at_2s = pie_after(40 * ms, 2000 * ms), at_5s = pie_after(40 * ms, 5000 * ms);
    EXPECT_GT(at_2s, 0);
    EXPECT_GT(at_5s, at_2s);
    EXPECT_GT(pie_after(80 * ms, 5000 * ms), at_5s);
}

TEST(Pie, TheControllerMovesByItsTwoGainsAndScalesSmallProbabilities) {
    no_drops drops;
    pie p(drops, 15 * ms, 1);
    queued_packet in;
    in.data = udp(1000);
    p.push(std::move(in), 0, 10);
    // One packet that waits: its delay at update n is 15 n ms.
    double want = 0, before = 0;
    const auto scale = [](double x) {
        return x < 1e-6   ? 1.0 / 2048
               : x < 1e-5 ? 1.0 / 512
               : x < 1e-4 ? 1.0 / 128
               : x < 1e-3 ? 1.0 / 32
               : x < 1e-2 ? 1.0 / 8
               : x < 1e-1 ? 1.0 / 2
                          : 1.0;
    };
    for (int n = 1; n <= 60; ++n) {
        const double delay = 0.015 * n;
        double step = (0.125 * (delay - 0.015) + 1.25 * (delay - before)) * scale(want);
        if (want >= 0.1) step = std::min(step, 0.02);
        want = std::min(1.0, want + step);
        before = delay;
        queued_packet more;
        more.data = udp(1000);
        more.arrived_ns = n * pie::update_ns;
        p.push(std::move(more), n * pie::update_ns, 100000);
        ASSERT_NEAR(p.probability(), want, 1e-12) << n;
    }
    EXPECT_GT(want, 0.1);
}

TEST(Pie, TheFirstBurstIsLetThrough) {
    watched_queue q({.kind = queue_kind::pie});
    for (std::int64_t t = 0; t < 140 * ms; t += ms / 2) {
        q.push(udp(1000), t);
        if (t % (4 * ms) == 0) q.pop(t);
    }
    EXPECT_EQ(q.dropped.packets, 0U);
    for (std::int64_t t = 140 * ms; t < 3000 * ms; t += ms / 2) {
        q.push(udp(1000), t);
        if (t % (4 * ms) == 0) q.pop(t);
    }
    EXPECT_GT(q.dropped.packets, 0U);
}

// The sender offers a fifth more than the link carries and does not react.
TEST(Pie, AnOverloadIsHeldNearTheTargetAndTheDropsAreWhatIsTooMuch) {
    watched_queue q({.kind = queue_kind::pie});
    std::int64_t due = 0;
    for (std::int64_t t = 0; t < 60000 * ms; t += ms) {
        for (; due <= t; due += ms * 5 / 6) q.push(udp(1000), t);
        q.pop(t);
    }
    double sojourn = 0;
    int n = 0, dropped = 0, came = 0;
    for (const auto& e : q.events) {
        if (e.at_ns < 30000 * ms) continue;
        ++came;
        if (e.dropped)
            ++dropped;
        else
            sojourn += static_cast<double>(e.sojourn_ns), ++n;
    }
    EXPECT_NEAR(sojourn / n, 15.0 * ms, 5.0 * ms);
    EXPECT_NEAR(static_cast<double>(dropped) / came, 1.0 / 6, 0.02);
}

// The sender takes marks and does not react to them, so that the probability grows beyond a tenth.
TEST(Pie, MarksUpToAProbabilityOfATenthAndDropsAbove) {
    for (const int percent : {20, 40}) {  // per cent of overload
        watched_queue q({.kind = queue_kind::pie});
        double due = 0;
        for (std::int64_t t = 0; t < 40000 * ms; t += ms) {
            for (; due <= static_cast<double>(t); due += 1.0 * ms / (1 + percent / 100.0))
                q.push(udp(1000, ecn::ect_0), t);
            q.pop(t);
        }
        const auto is_drop = [](const auto& e) { return e.dropped; };
        const auto is_mark = [](const auto& e) { return e.marked; };
        const auto first_drop = std::ranges::find_if(q.events, is_drop);
        ASSERT_NE(first_drop, q.events.end());
        // Above a tenth there are drops alone, but for what waited when the first one came.
        EXPECT_GT(std::count_if(q.events.begin(), first_drop, is_mark), 0);
        EXPECT_EQ(std::count_if(first_drop + 200, q.events.end(), is_mark), 0);
        EXPECT_GT(q.dropped.packets, percent * 200U);
    }
}

// --- DualPI2, RFC 9332 ---

// p' after a delay of the classic queue has been held for so long.
struct held_dualpi2 {
    explicit held_dualpi2(std::int64_t delay, std::int64_t until) : queue(drops, 15 * ms) {
        queued_packet out;
        for (std::int64_t t = 0; t < until; t += ms) {
            queued_packet in;
            in.data = udp(1000);
            in.arrived_ns = t;
            queue.push(std::move(in), t, 100000);
            while (t - queue.first_arrival_ns() >= delay) queue.pop(t, out);
        }
    }
    no_drops drops;
    dualpi2 queue;
};

TEST(DualPi2, TheClassicProbabilityIsTheSquareAndTheCoupledOneTwiceTheBase) {
    held_dualpi2 h(25 * ms, 1000 * ms);
    const double base = h.queue.base_probability();
    ASSERT_GT(base, 0.05);
    ASSERT_LT(base, 0.5);
    EXPECT_DOUBLE_EQ(h.queue.classic_probability(), base * base);
    EXPECT_DOUBLE_EQ(h.queue.coupled_probability(), 2 * base);
}

TEST(DualPi2, TheControllerIsThatOfTheRfc) {
    no_drops drops;
    dualpi2 q(drops, 15 * ms);
    queued_packet in;
    in.data = udp(1000);
    q.push(std::move(in), 0, 10);
    // One packet that waits; updates every 15 ms with 0.1 T / RTT^2 and 0.3 / RTT.
    double want = 0, before = 0;
    for (int n = 1; n <= 10; ++n) {
        const double delay = 0.015 * n;
        want += 0.1 * 0.015 / 0.01 * (delay - 0.015) + 0.3 / 0.1 * (delay - before);
        want = std::clamp(want, 0.0, 0.5);
        before = delay;
        queued_packet more;
        more.data = udp(1000);
        more.arrived_ns = n * 15 * ms;
        q.push(std::move(more), n * 15 * ms, 1000);
        ASSERT_NEAR(q.base_probability(), want, 1e-12) << n;
    }
}

TEST(DualPi2, TheProbabilitiesAreWhatIsDroppedAndMarked) {
    held_dualpi2 h(25 * ms, 1000 * ms);
    auto& q = h.queue;
    const double base = q.base_probability();
    // No time passes any more, so that the probability stays.
    const std::int64_t now = 999 * ms;
    queued_packet out;
    while (q.packets() > 0) q.pop(now, out);
    h.drops.count = 0;
    constexpr int n = 10000;
    int marked = 0;
    for (int i = 0; i < n; ++i) {
        queued_packet classic, scalable;
        classic.data = udp(1000);
        scalable.data = udp(1000, ecn::ect_1);
        classic.arrived_ns = scalable.arrived_ns = now;
        q.push(std::move(classic), now, 100);
        q.push(std::move(scalable), now, 100);
        while (q.pop(now, out)) marked += out.marked ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(h.drops.count) / n, base * base, 2.0 / n);
    EXPECT_NEAR(static_cast<double>(marked) / n, 2 * base, 2.0 / n);
}

TEST(DualPi2, TheRampMarksByTheDelayOfTheL4sQueueItself) {
    const auto share = [](std::int64_t delay) {
        watched_queue q({.kind = queue_kind::dualpi2});
        q.push(udp(1000, ecn::ect_1), 0);
        q.push(udp(1000, ecn::ect_1), 0);
        int marked = 0;
        constexpr int n = 2000;
        for (int i = 1; i <= n; ++i) {
            const std::int64_t t = i * delay;
            q.pop(t);
            marked += q.events.back().marked ? 1 : 0;
            q.push(udp(1000, ecn::ect_1), t);
        }
        return static_cast<double>(marked) / n;
    };
    // Two packets wait, so that each waits for two services.
    EXPECT_EQ(share(350'000), 0);
    EXPECT_NEAR(share(500'000), 0.5, 0.01);
    EXPECT_NEAR(share(650'000), 1, 0.01);
}

TEST(DualPi2, OnePacketInTheL4sQueueIsNotMarkedForALinkThatIsSlow) {
    watched_queue q({.kind = queue_kind::dualpi2});
    for (std::int64_t t = 0; t < 1000 * ms; t += 12 * ms) {
        q.push(udp(1500, ecn::ect_1), t);
        q.pop(t + 12 * ms - 1);
    }
    // The ramp would mark all of them; what remains is the coupling to a controller that sees
    // delays between 0 and 12 ms.
    EXPECT_LT(q.queue.marked().packets, 5U);
    EXPECT_GT(q.out.packets, 80U);
}

TEST(DualPi2, TheL4sQueueGoesFirstAndASixteenthRemainsForTheClassicOne) {
    watched_queue q({.kind = queue_kind::dualpi2}, 10000);
    for (int i = 0; i < 1700; ++i) {
        q.push(udp(1000, ecn::ect_1), 0);
        q.push(udp(1000), 0);
    }
    int classic = 0;
    for (int i = 0; i < 1600; ++i) {
        q.pop(0);
        classic += read_ecn(q.events.back().data) == ecn::not_ect ? 1 : 0;
    }
    EXPECT_EQ(read_ecn(q.events.front().data), ecn::ect_1);
    EXPECT_NEAR(classic, 100, 2);
}

TEST(DualPi2, InOverloadBothQueuesDropAtMostAQuarter) {
    held_dualpi2 h(400 * ms, 4000 * ms);
    EXPECT_DOUBLE_EQ(h.queue.base_probability(), 0.5);
    EXPECT_DOUBLE_EQ(h.queue.classic_probability(), 0.25);
    const std::int64_t now = 3999 * ms;
    queued_packet out;
    while (h.queue.packets() > 0) h.queue.pop(now, out);
    for (const ecn field : {ecn::ect_1, ecn::ect_0, ecn::not_ect}) {
        h.drops.count = 0;
        int marked = 0;
        for (int i = 0; i < 4000; ++i) {
            queued_packet p;
            p.data = udp(1000, field);
            p.arrived_ns = now;
            h.queue.push(std::move(p), now, 100);
            if (h.queue.pop(now, out)) marked += out.marked ? 1 : 0;
        }
        EXPECT_NEAR(h.drops.count, 1000, 2);
        EXPECT_EQ(marked, field == ecn::ect_1 ? 4000 - h.drops.count : 0);
    }
}

TEST(DualPi2, AClassicSenderThatReactsToMarksIsMarkedInstead) {
    watched_queue q({.kind = queue_kind::dualpi2});
    hold(q, 25 * ms, 0, 2000 * ms, ecn::ect_0);
    EXPECT_GT(q.queue.marked().packets, 5U);
    watched_queue without({.kind = queue_kind::dualpi2});
    hold(without, 25 * ms, 0, 2000 * ms);
    EXPECT_GT(without.dropped.packets, 5U);
}

}  // namespace
}  // namespace wip
