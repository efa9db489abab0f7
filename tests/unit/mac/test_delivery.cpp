// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded network as a link: what is read of Mahimahi's and CellReplay's traces, and when each
// packet leaves.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "delivery/delivery_link.h"

using namespace wip;
using namespace wip::delivery;

namespace {

constexpr std::int64_t ms = 1'000'000;

std::string refusal(std::string_view text) {
    try {
        read_delivery_trace(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

delivery_config config_of(std::string_view text) {
    delivery_config c;
    c.trace = read_delivery_trace(text);
    return c;
}

// Times in ms at which packets leave, that come at these times with these sizes.
std::vector<double> departures(const delivery_config& c,
                               const std::vector<std::pair<double, std::size_t>>& packets) {
    delivery_link link(c, false);
    std::vector<double> left;
    link.deliver_to([&](const link_packet& p) {
        left.push_back(static_cast<double>(p.due_ns) / ms);
        return 0;
    });
    for (const auto& [at_ms, bytes] : packets) {
        const auto now = static_cast<std::int64_t>(at_ms * ms);
        link.advance(now);
        link.offer(std::vector<std::uint8_t>(bytes, 0x45), now);
    }
    for (int i = 0; i < 10'000 && !link.idle(); ++i) link.advance(link.next_wakeup());
    EXPECT_TRUE(link.idle());
    EXPECT_EQ(link.sums().missing(), packets_bytes{});
    return left;
}

}  // namespace

TEST(DeliveryTrace, ReadsOpportunitiesAndTrains) {
    EXPECT_EQ(read_delivery_trace("0\n5\n5\n12\n").opportunities_ms,
              (std::vector<std::int64_t>{0, 5, 5, 12}));
    EXPECT_EQ(read_delivery_trace("7\r\n9").opportunities_ms, (std::vector<std::int64_t>{7, 9}));
    const auto light = read_delivery_trace("0 20 0 0 1 3\n100 30\n250 25 0\n");
    ASSERT_EQ(light.trains.size(), 3U);
    EXPECT_EQ(light.trains[0], (train{0, 20, {0, 0, 1, 3}}));
    EXPECT_EQ(light.trains[1], (train{100, 30, {}}));
    EXPECT_EQ(read_delivery_trace("0 4.25\n10 5\n").trains[0].delay_ms, 4.25);
}

TEST(DeliveryTrace, RefusesWhatIsNoTraceByItsLine) {
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"", "has a duration of 0 ms"},
             {"0\n0\n", "has a duration of 0 ms"},
             {"3\n2\n", "line 2 is '2'"},
             {"3\n\n4\n", "line 2 is ''"},
             {"1\nx7\n", "line 2 is 'x7'"},
             {"-1\n", "line 1 is '-1'"},
             {"1.5\n", "line 1 is '1.5'"},
             {"5\n99999999999999999999\n", "line 2"},
             {"604800001\n", "0..604800000"},
             {"5\n6 7\n", "line 2 is '6 7'; valid: one whole time"},
             {"0 20\n5\n", "line 2 is '5'; valid: a delay"},
             {"0 20 1.5\n5 1\n", "in whole ms"},
             {"0 nan\n5 1\n", "valid: a delay"},
             {"0 1e999\n5 1\n", "valid: a delay"},
             {"0 20\n", "at least two times"},
             {"0 60001\n9 1\n", "0..60000 ms"},
             {"9 1\n3 1\n", "line 2 is '3 1'"},
             {"0 20 5 4\n9 1\n", "none before the one in front"},
             {"PK\x03\x04", "line 1 is 'PK"}}) {
        EXPECT_NE(refusal(text).find(why), std::string::npos) << text << ": " << refusal(text);
    }
}

// As mm-link does it: 1500 bytes an opportunity, lost without a packet, shared by several.
TEST(DeliveryLink, ServesByOpportunitiesOfMahimahi) {
    const auto c = config_of("10\n20\n20\n30\n");
    EXPECT_EQ(departures(c, {{1, 1500}, {1, 1500}, {1, 1500}, {1, 1500}}),
              (std::vector<double>{10, 20, 20, 30}));
    EXPECT_EQ(departures(c, {{1, 700}, {1, 700}, {1, 700}}), (std::vector<double>{10, 10, 20}));
    EXPECT_EQ(departures(c, {{1, 4000}}), (std::vector<double>{20}));
    EXPECT_EQ(departures(c, {{10, 100}, {29.999, 100}}), (std::vector<double>{20, 30}));
    // The period is the last line.
    EXPECT_EQ(departures(c, {{30, 100}, {45, 1500}}), (std::vector<double>{40, 50}));
    EXPECT_EQ(departures(c, {{3'000'031, 100}}), (std::vector<double>{3'000'040}));
}

TEST(DeliveryLink, AnOutageAtTheEndIsKept) {
    // 3 s of one opportunity a millisecond, and 3 s of none but the last.
    std::string text;
    for (int t = 1; t <= 3000; ++t) text += std::to_string(t) + "\n";
    text += "6000\n";
    const auto c = config_of(text);
    EXPECT_EQ(departures(c, {{2999.5, 100}, {3000.5, 100}, {3001, 1500}, {6000.5, 100}}),
              (std::vector<double>{3000, 6000, 6001, 6001}));
    const delivery_link link(c, false);
    EXPECT_DOUBLE_EQ(link.capacity_bits(6000 * ms), 3001 * 12000);
    EXPECT_DOUBLE_EQ(link.capacity_bits(12'000 * ms), 6002 * 12000);
    EXPECT_DOUBLE_EQ(link.capacity_bits(4500 * ms), 3000 * 12000);
}

TEST(DeliveryLink, DelayBehindTheServiceAndRateOfAProfile) {
    auto c = config_of("10\n20\n");
    c.delay_ms = 7.5;
    EXPECT_EQ(departures(c, {{1, 1500}}), (std::vector<double>{17.5}));
    delivery_config rate;
    rate.rate_kbps = 1200;
    rate.delay_ms = 100;
    EXPECT_EQ(departures(rate, {{0, 1500}, {0, 1500}, {50, 750}}),
              (std::vector<double>{110, 120, 155}));
    rate.rate_kbps = 0;
    EXPECT_EQ(departures(rate, {{3, 1500}}), (std::vector<double>{103}));
}

TEST(DeliveryLink, BaseDelayIsLinearBetweenTwoLines) {
    const auto c = config_of("0 20\n100 30\n300 10\n");
    EXPECT_EQ(departures(c, {{0, 100}, {50, 100}, {100, 100}, {200, 100}}),
              (std::vector<double>{20, 75, 130, 220}));
    // Again from the beginning; none overtakes another one.
    EXPECT_EQ(departures(c, {{300, 100}, {350, 100}}), (std::vector<double>{320, 375}));
    const auto falls = config_of("0 50\n10 0\n20 0\n");
    EXPECT_EQ(departures(falls, {{0, 100}, {5, 100}, {10, 100}}),
              (std::vector<double>{50, 50, 50}));
}

// A train of packets at a light load passes by its own opportunities; what is beyond them, by those
// of the heavy load.
TEST(DeliveryLink, LightAndHeavyLoadOfCellReplay) {
    auto c = config_of("0 20 0 1 1 4\n1000 20 0 1 1 4\n");
    c.trace.opportunities_ms = {10, 20, 30, 40, 50, 60};
    EXPECT_EQ(departures(c, {{0, 1500}}), (std::vector<double>{20}));
    EXPECT_EQ(departures(c, {{0, 1500}, {0, 1500}, {0, 1500}, {0, 1500}}),
              (std::vector<double>{20, 21, 21, 24}));
    // Half as large: two share an opportunity.
    EXPECT_EQ(departures(c, {{0, 750}, {0, 750}, {0, 750}, {0, 750}}),
              (std::vector<double>{20, 20, 21, 21}));
    // The fifth and sixth are held back for the base delay, then wait for the heavy load's next.
    EXPECT_EQ(departures(c, {{0, 1500}, {0, 1500}, {0, 1500}, {0, 1500}, {2, 1500}, {2, 1500}}),
              (std::vector<double>{20, 21, 21, 24, 30, 40}));
    // After an idle time the next packet begins a train.
    EXPECT_EQ(departures(c, {{0, 1500}, {100, 1500}, {100, 1500}}),
              (std::vector<double>{20, 120, 121}));
}

TEST(DeliveryLink, LossIsDrawnWithItsProbability) {
    delivery_config c;
    c.loss = 0.2;
    delivery_link link(c, false), other(c, true);
    int same = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::vector<std::uint8_t> packet(100, 0x45);
        same += link.offer(packet, i * ms) == other.offer(packet, i * ms);
    }
    EXPECT_NEAR(static_cast<double>(link.sums().dropped[0].count.packets), 2000, 120);  // 3 sigma
    EXPECT_NEAR(same, 6800, 140);  // the two directions draw independently
}

TEST(DeliveryLink, EachPacketHasARecord) {
    auto c = config_of("10\n20\n30\n");
    c.queue_packets = 2;
    delivery_link link(c, true);
    std::vector<packet_record> seen;
    link.follow([&](const packet_record& r, int user) {
        EXPECT_EQ(user, 1);
        seen.push_back(r);
    });
    const std::vector<std::uint8_t> packet(1500, 0x45);
    for (int i = 0; i < 3; ++i) link.offer(packet, 1 * ms, 1);
    while (!link.idle()) link.advance(link.next_wakeup());
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_STREQ(seen[0].dropped, "queue_full");
    EXPECT_EQ(seen[0].number, 2U);
    for (std::size_t i = 1; i < 3; ++i) {
        EXPECT_TRUE(seen[i].uplink);
        EXPECT_EQ(seen[i].number, i - 1);
        EXPECT_EQ(seen[i].arrived_ns, 1 * ms);
        EXPECT_EQ(seen[i].left_ns, static_cast<std::int64_t>(10 * i) * ms);
        EXPECT_EQ(seen[i].sojourn_ns, static_cast<std::int64_t>(10 * i - 1) * ms);
        EXPECT_EQ(seen[i].parts.sum(), seen[i].left_ns - seen[i].arrived_ns);
    }
}

TEST(DeliveryLink, OutOfRangeIsRefusedByItsKey) {
    for (const auto& [key, set] : std::vector<std::pair<std::string, void (*)(delivery_config&)>>{
             {"loss", [](delivery_config& c) { c.loss = 1.5; }},
             {"rate_kbps", [](delivery_config& c) { c.rate_kbps = -1; }},
             {"delay_ms", [](delivery_config& c) { c.delay_ms = 1e9; }},
             {"queue_packets", [](delivery_config& c) { c.queue_packets = 0; }},
             {"held_mb", [](delivery_config& c) { c.held_mb = 0; }}}) {
        delivery_config c;
        set(c);
        try {
            const delivery_link link(c, false);
            ADD_FAILURE() << key;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(key), std::string::npos) << e.what();
        }
    }
}
