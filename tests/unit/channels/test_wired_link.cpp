// SPDX-License-Identifier: GPL-3.0-or-later
// The wired network: when packets leave, which are lost or refused, and that the sums are right.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "packet/wired_link.h"

using namespace wip::packet_model;

namespace {

constexpr std::int64_t ms = 1'000'000;

struct wire {
    explicit wire(const wired_config& c) : link(c, 1) {
        link.deliver_to([this](const wip::link_packet& p) {
            due = p.due_ns;
            return 0;
        });
    }
    bool offer(std::size_t bytes, std::int64_t now) {
        const std::vector<std::uint8_t> packet(bytes, 0x45);
        const bool taken = link.offer(packet, now);
        check();
        return taken;
    }
    std::int64_t leave() {
        link.advance(link.next_wakeup());
        check();
        return due;
    }
    void check() const {
        const auto& s = link.statistics();
        EXPECT_EQ(s.in, s.out + s.queued + s.lost + s.refused + s.managed + s.not_held);
    }
    wired_link link;
    std::int64_t due = 0;
};

std::string refusal(const wired_config& c) {
    try {
        c.check();
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST(WiredLink, WithoutARateOnlyTheDelayCounts) {
    wire w({.delay_ms = 10});
    EXPECT_TRUE(w.offer(1500, 3 * ms));
    EXPECT_TRUE(w.offer(40, 3 * ms + 1));
    EXPECT_EQ(w.leave(), 13 * ms);
    EXPECT_EQ(w.leave(), 13 * ms + 1);
    EXPECT_EQ(w.link.next_wakeup(), wired_link::never);
}

TEST(WiredLink, ARateSpacesThePackets) {
    wire w({.delay_ms = 1, .rate_kbps = 12000});  // 1500 bytes: 1 ms
    for (int i = 0; i < 3; ++i) w.offer(1500, 0);
    EXPECT_EQ(w.leave(), 2 * ms);
    EXPECT_EQ(w.leave(), 3 * ms);
    EXPECT_EQ(w.leave(), 4 * ms);
    w.offer(1500, 10 * ms);  // the line was idle meanwhile, which earned it no credit
    EXPECT_EQ(w.leave(), 12 * ms);
}

TEST(WiredLink, TheRateIsExactOverAMillionPackets) {
    wire w({.delay_ms = 0, .rate_kbps = 7, .queue_packets = 100000});  // 40 bytes: 320/7 ms
    std::int64_t due = 0;
    for (int i = 0; i < 1'000'000; ++i) {
        w.offer(40, due);
        due = w.leave();
    }
    // One nanosecond at most is cut off: the line's own end carries its remainder on only while it
    // is busy, and here it is idle for that part of a nanosecond.
    EXPECT_NEAR(static_cast<double>(due), 1e6 * 320 / 7 * 1e6, 1e6);
    wire busy({.delay_ms = 0, .rate_kbps = 7, .queue_packets = 100000});
    for (int i = 0; i < 70000; ++i) busy.offer(40, 0);
    for (int i = 0; i < 70000; ++i) due = busy.leave();
    EXPECT_EQ(due, std::int64_t{70000} * 320 * ms / 7);
}

TEST(WiredLink, TheQueueHasALimitAndThePacketOnTheLineCounts) {
    wire w({.delay_ms = 0, .rate_kbps = 12000, .queue_packets = 2});
    EXPECT_TRUE(w.offer(1500, 0));
    EXPECT_TRUE(w.offer(1500, 0));
    EXPECT_FALSE(w.offer(1500, 0));
    EXPECT_FALSE(w.offer(1500, ms - 1));
    EXPECT_TRUE(w.offer(1500, ms));  // the first packet has left the line
    EXPECT_EQ(w.link.statistics().refused.packets, 2U);
}

TEST(WiredLink, LossesAreAsManyAsAskedAndTheSameForASeed) {
    const auto lost = [](std::uint64_t seed) {
        wire w({.loss = 0.03, .seed = seed});
        std::vector<int> which;
        for (int i = 0; i < 20000; ++i)
            if (!w.offer(100, i)) which.push_back(i);
        return which;
    };
    EXPECT_NEAR(static_cast<double>(lost(1).size()), 600, 5 * std::sqrt(600 * 0.97));
    EXPECT_EQ(lost(1), lost(1));
    EXPECT_NE(lost(1), lost(2));
    wire none({.loss = 0}), all({.loss = 1});
    EXPECT_TRUE(none.offer(10, 0));
    EXPECT_FALSE(all.offer(10, 0));
}

TEST(WiredLink, OtherSettingsHoldFromTheNextPacketOnAndNothingOvertakes) {
    wire w({.delay_ms = 10});
    w.offer(1500, 0);
    w.link.reconfigure({.delay_ms = 2});
    w.offer(1500, ms);  // would arrive at 3 ms
    w.offer(1500, 9 * ms);
    EXPECT_EQ(w.leave(), 10 * ms);  // both that are due by then
    EXPECT_EQ(w.link.statistics().out.packets, 2U);
    EXPECT_EQ(w.leave(), 11 * ms);
    w.link.reconfigure({.delay_ms = 2, .rate_kbps = 12000});  // 1500 bytes: 1 ms
    w.offer(1500, 20 * ms);
    w.offer(1500, 20 * ms);
    w.link.reconfigure({.delay_ms = 2, .rate_kbps = 1200, .loss = 1});
    EXPECT_FALSE(w.offer(1500, 20 * ms));
    EXPECT_EQ(w.leave(), 23 * ms);
    EXPECT_EQ(w.leave(), 24 * ms);
    EXPECT_THROW(w.link.reconfigure({.loss = 2}), std::invalid_argument);
    EXPECT_FALSE(w.offer(1500, 30 * ms));  // the same limit as before
}

TEST(WiredLink, WithoutARateItHoldsNoMoreThanItIsAllowedInBytesAndInPackets) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{1500}, std::size_t{65535}}) {
        wire w({.delay_ms = 60000, .held_mb = 1});
        const std::size_t most = 1'000'000 / (bytes + bytes_about_a_packet);
        for (std::size_t i = 0; i < 3 * most; ++i)
            EXPECT_EQ(w.offer(bytes, static_cast<std::int64_t>(i)), i < most) << bytes;
        const auto& s = w.link.statistics();
        EXPECT_EQ(s.queued.packets, most);
        EXPECT_LE(held_bytes(s.queued), 1'000'000U);
        EXPECT_EQ(s.not_held.packets, 2 * most);
        EXPECT_EQ(w.link.sums().dropped.at(2).count.packets, 2 * most);
        w.leave();
        EXPECT_TRUE(w.offer(bytes, ms));  // there is room again
    }
}

TEST(WiredLink, ALineWithARateHoldsNoMoreBehindItEither) {
    wire w({.delay_ms = 60000, .rate_kbps = 1e7, .held_mb = 0.1});
    for (int i = 0; i < 1000; ++i) w.offer(1500, i * ms);
    EXPECT_EQ(w.link.statistics().queued.packets, 100'000U / (1500 + bytes_about_a_packet));
    EXPECT_EQ(w.link.statistics().refused.packets, 0U);
}

TEST(WiredLink, LessRoomHoldsFromTheNextPacketOnAndDropsNothingThatIsOnItsWay) {
    wire w({.delay_ms = 1000, .held_mb = 1});
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(w.offer(1500, 0));
    w.link.reconfigure({.delay_ms = 1000, .held_mb = 0.01});
    EXPECT_FALSE(w.offer(1500, 1));
    EXPECT_EQ(w.leave(), 1000 * ms);
    EXPECT_EQ(w.link.statistics().out.packets, 100U);
    EXPECT_TRUE(w.offer(1500, 1000 * ms));
}

TEST(WiredLink, BadSettingsAreNamed) {
    EXPECT_EQ(refusal({}), "");
    EXPECT_EQ(refusal({.delay_ms = -1}).rfind("wired_config.delay_ms is -1", 0), 0U);
    EXPECT_EQ(refusal({.delay_ms = NAN}).rfind("wired_config.delay_ms is nan", 0), 0U);
    EXPECT_EQ(refusal({.rate_kbps = 0.5}).rfind("wired_config.rate_kbps is 0.5", 0), 0U);
    EXPECT_EQ(refusal({.loss = 1.5}).rfind("wired_config.loss is 1.5", 0), 0U);
    EXPECT_EQ(refusal({.queue_packets = 0}).rfind("wired_config.queue_packets is 0", 0), 0U);
    EXPECT_EQ(refusal({.held_mb = 0}).rfind("wired_config.held_mb is 0", 0), 0U);
    EXPECT_THROW(wired_link({.loss = 2}, 1), std::invalid_argument);
}

// The same packets leave at the same times, because CoDel has nothing to signal yet.
TEST(WiredLink, ADisciplineThatDoesNotActKeepsTheTimesOfTheLine) {
    wire plain({.delay_ms = 3, .rate_kbps = 7, .queue_packets = 100});
    wire managed({.delay_ms = 3,
                  .rate_kbps = 7,
                  .queue_packets = 100,
                  .queue = {.kind = wip::queue_kind::codel, .target_ms = 10000}});
    for (int i = 0; i < 50; ++i)
        for (wire* w : {&plain, &managed}) EXPECT_TRUE(w->offer(40, i * 3 * ms));
    for (int i = 0; i < 50; ++i) {
        const std::int64_t due = plain.leave();
        while (managed.link.statistics().out.packets < static_cast<std::uint64_t>(i) + 1)
            managed.leave();
        EXPECT_EQ(managed.due, due) << i;
    }
}

TEST(WiredLink, TheLimitCountsThePacketOnTheLineUnderADiscipline) {
    wire w({.delay_ms = 0,
            .rate_kbps = 12000,
            .queue_packets = 2,
            .queue = {.kind = wip::queue_kind::pie}});
    EXPECT_TRUE(w.offer(1500, 0));
    w.link.advance(0);
    EXPECT_TRUE(w.offer(1500, 0));
    EXPECT_FALSE(w.offer(1500, 0));
    EXPECT_EQ(w.link.statistics().refused.packets, 1U);
    w.link.advance(1 * ms);
    EXPECT_TRUE(w.offer(1500, 1 * ms));
}

TEST(WiredLink, TheDisciplineAndTheRateChangeWhilePacketsWait) {
    const auto config = [](wip::queue_kind kind, double kbps) {
        return wired_config{
            .delay_ms = 5, .rate_kbps = kbps, .queue_packets = 1000, .queue = {.kind = kind}};
    };
    wire w(config(wip::queue_kind::drop_tail, 1000));
    std::int64_t now = 0, last = 0;
    int step = 0;
    for (const auto kind : {wip::queue_kind::fq_codel, wip::queue_kind::drop_tail,
                            wip::queue_kind::dualpi2, wip::queue_kind::codel}) {
        for (int i = 0; i < 20; ++i, now += ms) {
            w.offer(500, now);
            w.link.advance(now);
        }
        w.link.reconfigure(config(kind, ++step == 3 ? 0 : 1000));
        w.check();
    }
    while (!w.link.idle()) {
        const std::int64_t due = w.leave();
        EXPECT_GE(due, last);
        last = due;
    }
    EXPECT_EQ(w.link.sums().missing(), wip::packets_bytes{});
    EXPECT_GT(w.link.statistics().out.packets, 60U);
}
