// SPDX-License-Identifier: GPL-3.0-or-later
// The wired network behind a base station: when packets come out of it, and how they are counted.
#include <gtest/gtest.h>

#include "base_station_world.h"

using namespace wip;
using namespace wip::host;

namespace {

class BehindAWire : public BaseStation {
protected:
    explicit BehindAWire(const std::vector<std::string>& more = {}) : BaseStation(with(more)) {}
    static std::vector<std::string> with(std::vector<std::string> more) {
        more.insert(more.begin(), {"link.modulation=4", "to_base.delay_ms=10"});
        return more;
    }
    static openwip::uplink::Uplink with_packet(std::int64_t now, std::int64_t arrival) {
        auto m = word(now);
        auto& p = *m.add_packets();
        p.set_arrival(arrival);
        const auto packet = ip_packet(60);
        p.set_data(packet.data(), packet.size());
        return m;
    }
    // Slots from `next` on until the MAC has a packet; the first one whose plan holds it.
    std::int64_t until_sent(std::int64_t next) {
        for (const std::int64_t end = next + 100; next < end; ++next) {
            ask(next);
            hear(word(next - 3));
            EXPECT_TRUE(conserved(status().downlink()));
            if (!port.plans.back().payload().empty()) return next;
        }
        return -1;
    }
    // Runs until a packet comes out of the TUN; returns the slot that the terminal's clock has
    // passed then.
    std::int64_t until_written(std::int64_t next) {
        for (const std::int64_t end = next + 100; next < end; ++next) {
            ask(next);
            hear(word(next - 3));
            EXPECT_TRUE(conserved(status().uplink()));
            if (!tun.take().empty()) return next - 3;
        }
        return -1;
    }
    void set(const std::vector<std::string>& assignments) {
        config::settings s(macd_keys());
        s.merge_assignment("role=base");
        for (const auto& a : assignments) s.merge_assignment(a);
        base.reconfigure(s, {"to_base.delay_ms"});
    }
};
}  // namespace

TEST_F(BehindAWire, APacketComesToTheMacAsManySlotsLaterAsTheDelayHas) {
    run(150, 160);
    tun.give(ip_packet(100));
    EXPECT_EQ(until_sent(161), 161 + 15);
    EXPECT_EQ(status().downlink().in().packets(), 1U);
}
TEST_F(BehindAWire, WhatIsOnTheWireCountsAsQueued) {
    run(150, 160);
    tun.give(ip_packet(100));
    go_on(161, 170);
    EXPECT_EQ(status().downlink().in().packets(), 1U);
    EXPECT_EQ(status().downlink().in().bytes(), 100U);
    EXPECT_EQ(status().downlink().queued().packets(), 1U);
}
TEST_F(BehindAWire, TheWayToTheServerIsAsLongUnlessItIsSaid) {
    run(150, 160);
    hear(with_packet(158, 161));
    EXPECT_EQ(until_written(161), 160 + 15);
}
TEST_F(BehindAWire, AnotherDelayHoldsFromTheNextPacketOn) {
    run(150, 160);
    set({"to_base.delay_ms=20", "from_base.delay_ms=4"});
    tun.give(ip_packet(100));
    EXPECT_EQ(until_sent(161), 161 + 30);
    hear(with_packet(189, 192));
    EXPECT_EQ(until_written(192), 191 + 6);
}
TEST_F(BehindAWire, ThePacketsInACaptureHaveTheNumbersOfTheMac) {
    port.watched.want(topic::ip);
    run(150, 160);
    for (int i = 0; i < 3; ++i) tun.give(ip_packet(100));
    go_on(161, 200);
    base.flush_telemetry();
    std::vector<std::uint64_t> numbers;
    for (const auto& m : port.watched.of(topic::ip))
        for (const auto& p : m.ip().packet()) numbers.push_back(p.number());
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{0, 1, 2}));
}
class ThatLosesAll : public BehindAWire {
protected:
    ThatLosesAll() : BehindAWire({"to_base.loss=1", "from_base.loss=1"}) {}
};
TEST_F(ThatLosesAll, WhatTheWireLosesIsDroppedWithAReason) {
    run(150, 160);
    tun.give(ip_packet(100));
    hear(with_packet(158, 161));
    go_on(161, 200);
    const auto s = status();
    EXPECT_EQ(dropped_with(s.downlink(), "wired_loss"), 1U);
    EXPECT_EQ(dropped_with(s.uplink(), "wired_loss"), 1U);
    EXPECT_TRUE(conserved(s.downlink()));
    EXPECT_TRUE(conserved(s.uplink()));
    EXPECT_TRUE(tun.take().empty());
}
class ThatIsSlow : public BehindAWire {
protected:
    ThatIsSlow() : BehindAWire({"to_base.rate_kbps=100", "to_base.queue_packets=2"}) {}
};
TEST_F(ThatIsSlow, ItsQueueIsDropTail) {
    run(150, 160);
    for (int i = 0; i < 5; ++i) tun.give(ip_packet(1000));
    go_on(161, 170);
    EXPECT_EQ(dropped_with(status().downlink(), "wired_queue_full"), 3U);
    EXPECT_EQ(status().downlink().queued().packets(), 2U);
    EXPECT_TRUE(conserved(status().downlink()));
}

class FreeRunningBehindAWire : public BaseStation {
protected:
    FreeRunningBehindAWire()
        : BaseStation({"link.modulation=4", "link.transmit_lead_slots=6",
                       "link.retransmission_delay_ms=8", "link.queue_packets=1",
                       "to_base.delay_ms=10"}) {}
};
TEST_F(FreeRunningBehindAWire, ItsTimeGoesOnWithoutATerminal) {
    const auto go = [this](std::int64_t k) {
        ask(k);
        base.caught_up();
        EXPECT_TRUE(conserved(status().downlink()));
        return dropped_with(status().downlink(), "queue_full");
    };
    for (std::int64_t k = 150; k <= 160; ++k) go(k);
    for (int i = 0; i < 3; ++i) tun.give(ip_packet(100));
    for (std::int64_t k = 161; k < 161 + 15; ++k) EXPECT_EQ(go(k), 0U);
    EXPECT_EQ(go(161 + 15), 2U);  // the MAC has room for one packet
}
