// SPDX-License-Identifier: GPL-3.0-or-later
// The Snoop agent, segment by segment, and between a simple TCP and a link that loses packets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "packet/wired_link.h"
#include "relay/snoop.h"
#include "types/splitmix64.h"
#include "wire/ip_header.h"
#include "wire/tcp_segment.h"

namespace wip {
namespace {

using bytes = std::vector<std::uint8_t>;
constexpr std::int64_t ms = 1'000'000;
constexpr std::uint32_t size = 100;  // bytes of data in a segment
constexpr snoop_config switched_on{.on = true};

struct block {
    std::uint32_t begin, end;
};

struct packet_fields {
    std::uint32_t sequence = 0, acknowledgement = 0;
    std::size_t data = 0;
    std::uint8_t flags = tcp::ack;
    std::uint16_t port = 5000;
    std::uint16_t window = 1000;
    std::vector<block> sack = {};
    int version = 4;
    bool up = false;
    std::uint8_t protocol = tcp::protocol;
    std::uint16_t fragment = 0;
};

void put(bytes& p, std::size_t at, std::uint32_t v, int width) {
    for (int i = 0; i < width; ++i)
        p[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(v >> 8 * (width - 1 - i));
}

bytes packet_of(const packet_fields& a) {
    const std::size_t ip = a.version == 4 ? 20 : 40;
    const std::size_t options = a.sack.empty() ? 0 : 4 + 8 * a.sack.size();
    bytes p(ip + 20 + options + a.data, static_cast<std::uint8_t>(a.sequence / size));
    std::fill(p.begin(), p.begin() + static_cast<std::ptrdiff_t>(ip + 20 + options), 0);
    const std::uint32_t server = 0x0a2a0001, terminal = 0x0a2a0002;
    const std::uint32_t from = a.up ? terminal : server, to = a.up ? server : terminal;
    if (a.version == 4) {
        p[0] = 0x45, p[8] = 64, p[9] = a.protocol;
        put(p, 2, static_cast<std::uint32_t>(p.size()), 2);
        put(p, 6, a.fragment, 2);
        put(p, 12, from, 4);
        put(p, 16, to, 4);
        put(p, 10, ~internet_sum(std::span(p).first(20)) & 0xffff, 2);
    } else {
        p[0] = 0x60, p[6] = a.protocol;
        put(p, 4, static_cast<std::uint32_t>(p.size() - 40), 2);
        put(p, 20, from, 4);
        put(p, 36, to, 4);
    }
    put(p, ip, a.up ? a.port : 80, 2);
    put(p, ip + 2, a.up ? 80 : a.port, 2);
    put(p, ip + 4, a.sequence, 4);
    put(p, ip + 8, a.acknowledgement, 4);
    p[ip + 12] = static_cast<std::uint8_t>((20 + options) / 4 << 4);
    p[ip + 13] = a.flags;
    put(p, ip + 14, a.window, 2);
    if (options > 0) {
        p[ip + 20] = p[ip + 21] = 1;
        p[ip + 22] = tcp::option_sack;
        p[ip + 23] = static_cast<std::uint8_t>(options - 2);
        std::size_t at = ip + 24;
        for (const auto& b : a.sack) put(p, at, b.begin, 4), put(p, at + 4, b.end, 4), at += 8;
    }
    return p;
}

// An agent between a sender that does as the test says and a link that is the test itself.
class agent {
public:
    explicit agent(const snoop_config& c = switched_on) : at(c) {
        at.downlink().deliver_to([this](const link_packet& p) {
            went_down.push_back(tcp::read_segment(p.data)
                                    ? tcp::read_segment(p.data)->sequence - first
                                    : 0xffffffff);
            down_packets.emplace_back(p.data.begin(), p.data.end());
            EXPECT_EQ(p.tag, 3);
            return 0;
        });
        at.uplink().deliver_to([this](const link_packet& p) {
            went_up.push_back(tcp::read_segment(p.data)
                                  ? tcp::read_segment(p.data)->acknowledgement - first
                                  : 0xffffffff);
            return 0;
        });
    }
    void run(std::int64_t t_ms) {
        auto& d = at.downlink();
        while (d.next_wakeup() < t_ms * ms) d.advance(d.next_wakeup());
        now = t_ms * ms;
        d.advance(now);
        at.uplink().advance(now);
        d.advance(now);
        EXPECT_EQ(d.sums().missing(), packets_bytes{});
        EXPECT_EQ(at.uplink().sums().missing(), packets_bytes{});
    }
    void give_down(packet_fields a) {
        a.sequence += first;
        at.downlink().offer(packet_of(a), now, 3);
        run(now / ms);
    }
    void give_up(packet_fields a) {
        a.up = true;
        a.acknowledgement += first;
        for (auto& b : a.sack) b.begin += first, b.end += first;
        at.uplink().offer(packet_of(a), now, 3);
        run(now / ms);
    }
    void send(std::uint32_t number) { give_down({.sequence = number * size, .data = size}); }
    void send(std::uint32_t from, std::uint32_t to) {
        for (; from < to; ++from) send(from);
    }
    void acknowledge(std::uint32_t number) { give_up({.acknowledgement = number * size}); }
    // Forgets what left until now.
    void look() { went_down.clear(), went_up.clear(), down_packets.clear(); }

    std::uint32_t first = 1;
    std::int64_t now = 0;
    snoop at;
    std::vector<std::uint32_t> went_down, went_up;
    std::vector<bytes> down_packets;
};

using numbers = std::vector<std::uint32_t>;

TEST(Snoop, KeepsWhatIsNotAcknowledgedAndForwardsAll) {
    agent a;
    a.send(0, 4);
    EXPECT_EQ(a.went_down, (numbers{0, size, 2 * size, 3 * size}));
    EXPECT_EQ(a.at.cached(), (packets_bytes{4, 4 * (size + 40)}));
    a.run(10);
    a.acknowledge(3);
    EXPECT_EQ(a.went_up, numbers{3 * size});
    EXPECT_EQ(a.at.cached().packets, 1U);
    EXPECT_EQ(a.at.count().round_trip_ms, 10);
    a.acknowledge(4);
    EXPECT_EQ(a.at.cached(), packets_bytes{});
    EXPECT_EQ(a.at.downlink().next_wakeup(), packet_link::never);
    EXPECT_EQ(a.at.count().retransmitted, packets_bytes{});
}

TEST(Snoop, OneLossIsRepairedAndNoDuplicateReachesTheSender) {
    for (const int version : {4, 6})
        for (const std::uint32_t first :
             {1U, 0xffffff9cU, 0xfffffe00U}) {  // wraps in the first, 5th
            agent a;
            a.first = first;
            for (std::uint32_t n = 0; n < 6; ++n)
                a.give_down({.sequence = n * size, .data = size, .version = version});
            const auto original = a.down_packets[1];
            a.run(10);
            const auto ack = [&](std::uint32_t n) {
                a.give_up({.acknowledgement = n * size, .version = version});
            };
            ack(1);
            a.look();
            for (int i = 0; i < 4; ++i) ack(1);
            EXPECT_EQ(a.went_down, numbers{size});
            ASSERT_EQ(a.down_packets.size(), 1U);
            EXPECT_EQ(a.down_packets[0], original) << "bit by bit";
            EXPECT_TRUE(a.went_up.empty());
            ack(6);
            EXPECT_EQ(a.went_up, numbers{6 * size});
            EXPECT_EQ(a.at.count().by_duplicate, 1U);
            EXPECT_EQ(a.at.count().suppressed_duplicates.packets, 4U);
            EXPECT_EQ(a.at.cached(), packets_bytes{});
        }
}

TEST(Snoop, SeveralLossesAreRepairedOneAfterTheOther) {
    agent a;
    a.send(0, 8);
    a.run(10);
    a.acknowledge(1);
    a.look();
    for (int i = 0; i < 4; ++i) a.acknowledge(1);  // 1, 3 and 5 were lost
    a.acknowledge(3);
    a.acknowledge(5);
    a.acknowledge(8);
    EXPECT_EQ(a.went_down, (numbers{size, 3 * size, 5 * size}));
    EXPECT_EQ(a.went_up, (numbers{3 * size, 5 * size, 8 * size}));
    EXPECT_EQ(a.at.count().by_duplicate, 1U);
    EXPECT_EQ(a.at.count().by_partial, 2U);
}

TEST(Snoop, MoreDuplicatesThanSegmentsAreTheSenders) {
    agent a;
    a.send(0, 4);
    a.acknowledge(1);
    a.look();
    for (int i = 0; i < 4; ++i) a.acknowledge(1);  // 2 segments are behind the lost one
    EXPECT_EQ(a.went_up, (numbers{size, size}));
    a.send(4);  // has a duplicate of its own
    a.acknowledge(1);
    EXPECT_EQ(a.went_up.size(), 2U);
}

TEST(Snoop, WhatTheSenderSendsAgainIsItsOwnAffair) {
    agent a;
    a.send(0, 5);
    a.acknowledge(1);
    a.send(1);
    a.look();
    a.acknowledge(1);
    a.acknowledge(1);
    EXPECT_TRUE(a.went_down.empty());
    EXPECT_EQ(a.went_up, (numbers{size, size}));
    EXPECT_EQ(a.at.count().sender_retransmissions, 1U);
    EXPECT_EQ(a.at.cached().packets, 4U) << "it takes the place of the copy";
}

TEST(Snoop, ALossBeforeTheAgentIsTheSendersAffairToo) {
    agent a;
    a.send(0);
    a.send(2, 5);  // 1 did not come
    a.acknowledge(1);
    a.look();
    for (int i = 0; i < 3; ++i) a.acknowledge(1);
    EXPECT_TRUE(a.went_down.empty());
    EXPECT_EQ(a.went_up, (numbers{size, size, size}));
}

TEST(Snoop, WhatComesOutOfOrderIsKeptInOrder) {
    agent a;
    for (const std::uint32_t n : {0U, 2U, 1U, 3U}) a.send(n);
    EXPECT_EQ(a.went_down, (numbers{0, 2 * size, size, 3 * size}));
    EXPECT_EQ(a.at.cached().packets, 4U);
    a.acknowledge(2);
    EXPECT_EQ(a.at.cached().packets, 2U);
    a.look();
    a.acknowledge(2);
    EXPECT_EQ(a.went_down, numbers{2 * size});
}

TEST(Snoop, WhatIsNoDuplicateIsForwarded) {
    agent a;
    a.send(0, 4);
    a.acknowledge(1);
    a.look();
    a.give_up({.acknowledgement = size, .window = 2000});
    a.give_up({.acknowledgement = size, .data = 10, .window = 2000});
    EXPECT_EQ(a.went_up, (numbers{size, size}));
    EXPECT_TRUE(a.went_down.empty());
    a.acknowledge(4);
    a.look();
    for (int i = 0; i < 3; ++i) a.acknowledge(4);  // nothing is on its way
    EXPECT_EQ(a.went_up.size(), 3U);
}

TEST(Snoop, AnOldAcknowledgementIsSuppressedUnlessItCarriesData) {
    agent a;
    a.send(0, 4);
    a.acknowledge(3);
    a.look();
    a.acknowledge(1);
    a.give_up({.acknowledgement = size, .data = 10});
    EXPECT_EQ(a.went_up, numbers{size});
    EXPECT_EQ(a.at.count().suppressed_old, (packets_bytes{1, 40}));
    const auto dropped = a.at.uplink().sums().dropped;
    ASSERT_EQ(dropped.size(), 2U);
    EXPECT_STREQ(dropped[1].reason, snoop::old_suppressed);
    EXPECT_EQ(dropped[1].count.bytes, 40U);
}

TEST(Snoop, SackDoesNotLetADuplicatePassAndDsackAsksForNothing) {
    agent a;
    a.send(0, 5);
    a.acknowledge(1);
    a.look();
    a.give_up({.acknowledgement = size, .sack = {{2 * size, 3 * size}}});
    EXPECT_EQ(a.went_down, numbers{size});
    EXPECT_TRUE(a.went_up.empty());
    a.acknowledge(4);
    a.look();
    // The copy arrived, but so had the segment itself.
    a.give_up({.acknowledgement = 4 * size, .sack = {{size, 2 * size}}});
    EXPECT_TRUE(a.went_down.empty());
    EXPECT_TRUE(a.went_up.empty());
    EXPECT_EQ(a.at.count().answered_twice, 1U);
    // That of a copy that the sender has sent is the sender's.
    agent b;
    b.send(0, 5);
    b.acknowledge(4);
    b.look();
    b.give_up({.acknowledgement = 4 * size, .sack = {{size, 2 * size}}});
    EXPECT_EQ(b.went_up, numbers{4 * size});
}

TEST(Snoop, ALastSegmentIsSentAgainAfterTwoRoundTrips) {
    agent a;
    a.send(0);
    a.run(30);
    a.acknowledge(1);
    EXPECT_EQ(a.at.count().round_trip_ms, 30);
    a.send(1);
    a.look();
    a.run(89);
    EXPECT_TRUE(a.went_down.empty());
    a.run(90);
    EXPECT_EQ(a.went_down, numbers{size});
    a.run(209);
    EXPECT_EQ(a.went_down.size(), 1U);
    a.run(210);  // doubled
    EXPECT_EQ(a.went_down.size(), 2U);
    EXPECT_EQ(a.at.count().by_timeout, 2U);
    a.acknowledge(2);
    EXPECT_EQ(a.at.count().round_trip_ms, 30) << "what was sent twice is not measured";
    a.run(5000);
    EXPECT_EQ(a.went_down.size(), 2U);
}

TEST(Snoop, AShortRoundTripDoesNotMakeTheTimeoutShorterThanItsLeast) {
    agent a;
    a.send(0);
    a.run(1);
    a.acknowledge(1);
    a.send(1);
    a.look();
    a.run(40);
    EXPECT_TRUE(a.went_down.empty());
    a.run(41);
    EXPECT_EQ(a.went_down.size(), 1U);
}

TEST(Snoop, AfterATimeoutThatWasTooEarlyNothingElseIsSentAgain) {
    agent a;
    a.send(0);
    a.run(30);
    a.acknowledge(1);
    a.send(1, 6);
    a.look();
    a.run(90);  // the link stood still
    EXPECT_EQ(a.went_down, numbers{size});
    for (std::uint32_t n = 2; n <= 6; ++n) a.acknowledge(n);
    a.give_up({.acknowledgement = 6 * size, .sack = {{size, 2 * size}}});
    EXPECT_EQ(a.went_down, numbers{size});
}

TEST(Snoop, GivesUpAndLeavesTheRestToTheSender) {
    auto c = switched_on;
    c.most_retransmissions = 2;
    agent a(c);
    a.send(0, 3);
    a.look();
    a.run(100'000);
    EXPECT_EQ(a.went_down, (numbers{0, 0}));
    EXPECT_EQ(a.at.count().given_up, 1U);
    EXPECT_EQ(a.at.connections(), 0U) << "idle for a minute";
    EXPECT_EQ(a.at.cached(), packets_bytes{});
    EXPECT_EQ(a.at.count().expired, 1U);
}

TEST(Snoop, AFullCacheIsCountedAndTheSegmentForwarded) {
    for (const bool by_bytes : {true, false}) {
        auto c = switched_on;
        if (by_bytes)
            c.most_bytes = 2 * (size + 40) + 1;
        else
            c.most_segments = 2;
        agent a(c);
        a.send(0, 4);
        EXPECT_EQ(a.went_down.size(), 4U);
        EXPECT_EQ(a.at.cached().packets, 2U);
        EXPECT_EQ(a.at.count().cache_full, (packets_bytes{2, 2 * (size + 40)}));
        a.acknowledge(2);
        a.look();
        a.acknowledge(2);
        EXPECT_EQ(a.went_up, numbers{2 * size}) << "there is no copy";
        EXPECT_TRUE(a.went_down.empty());
    }
}

TEST(Snoop, ConnectionsEndAndMakeRoom) {
    for (const bool up : {true, false})
        for (const auto flags : {tcp::rst, tcp::syn}) {
            agent a;
            a.send(0, 3);
            const packet_fields end{.flags = flags};
            up ? a.give_up(end) : a.give_down(end);
            EXPECT_EQ(a.at.connections(), 0U);
            EXPECT_EQ(a.at.cached(), packets_bytes{});
            EXPECT_EQ(a.at.downlink().next_wakeup(), packet_link::never);
            EXPECT_EQ(a.at.count().ended, 1U);
        }
    agent a;
    a.send(0, 3);
    a.give_down({.sequence = 3 * size, .data = 0, .flags = tcp::ack | tcp::fin});
    a.acknowledge(3);
    EXPECT_EQ(a.at.connections(), 1U);
    EXPECT_EQ(a.at.cached().packets, 1U) << "the FIN";
    a.give_up({.acknowledgement = 3 * size + 1});
    EXPECT_EQ(a.at.connections(), 0U);

    auto c = switched_on;
    c.most_connections = 2;
    agent b(c);
    for (const std::uint16_t port : {1, 2, 3}) {
        b.give_down({.data = size, .port = port});
        b.run(b.now / ms + 1);
    }
    EXPECT_EQ(b.at.connections(), 2U);
    EXPECT_EQ(b.at.count().evicted, 1U);
    EXPECT_EQ(b.at.cached().packets, 2U);
}

TEST(Snoop, AllElsePassesUntouched) {
    agent a;
    a.give_down({.data = size, .protocol = 50});
    a.give_down({.data = size, .fragment = 0x2000});
    a.give_down({.data = size, .fragment = 10});
    a.give_down({.data = 0});
    a.at.downlink().offer(bytes{1, 2, 3}, a.now, 3);
    a.at.uplink().offer(bytes{}, a.now, 3);
    a.run(1);
    EXPECT_EQ(a.went_down.size(), 5U);
    EXPECT_EQ(a.went_up.size(), 1U);
    EXPECT_EQ(a.at.connections(), 0U);
}

TEST(Snoop, OffItIsTwoLinesWithoutDelay) {
    agent a(snoop_config{});
    a.send(0, 4);
    for (int i = 0; i < 5; ++i) a.acknowledge(1);
    EXPECT_EQ(a.went_down.size(), 4U);
    EXPECT_EQ(a.went_up.size(), 5U);
    EXPECT_EQ(a.at.connections(), 0U);
    agent b;
    b.send(0, 4);
    b.at.reconfigure(snoop_config{});
    EXPECT_EQ(b.at.cached(), packets_bytes{});
    EXPECT_EQ(b.at.downlink().next_wakeup(), packet_link::never);
}

TEST(Snoop, RefusesWhatMakesNoSense) {
    EXPECT_THROW(snoop(snoop_config{.most_bytes = 0}), std::invalid_argument);
    EXPECT_THROW(snoop(snoop_config{.most_segments = 0}), std::invalid_argument);
    EXPECT_THROW(snoop(snoop_config{.most_connections = 0}), std::invalid_argument);
    EXPECT_THROW(snoop(snoop_config{.most_retransmissions = 101}), std::invalid_argument);
    EXPECT_THROW(snoop(snoop_config{.least_timeout_ms = 0}), std::invalid_argument);
    EXPECT_THROW(snoop(snoop_config{.idle_s = 0}), std::invalid_argument);
    snoop s(snoop_config{});
    EXPECT_THROW(s.reconfigure({.longest_timeout_ms = 0}), std::invalid_argument);
}

// A sender with a fixed window that knows nothing but timeouts and three duplicates, wired network,
// agent, a link that loses a share of both directions, a receiver that acknowledges every segment.
struct world {
    world(bool with_snoop, double loss, std::uint64_t seed, std::uint32_t first_sequence)
        : agent({.on = with_snoop}),
          radio_down(
              {.delay_ms = 5, .rate_kbps = 4000, .loss = loss, .queue_packets = 200, .seed = seed},
              1),
          radio_up({.delay_ms = 5, .loss = loss / 4, .seed = seed}, 2),
          wired_down({.delay_ms = 40}, 3),
          wired_up({.delay_ms = 40}, 4),
          first(first_sequence) {
        wired_down.deliver_to([this](const link_packet& p) {
            agent.downlink().offer(p.data, p.due_ns, p.tag);
            return 0;
        });
        agent.downlink().deliver_to([this](const link_packet& p) {
            radio_down.offer(p.data, p.due_ns, p.tag);
            return 0;
        });
        radio_down.deliver_to([this](const link_packet& p) { return arrive(p); });
        radio_up.deliver_to([this](const link_packet& p) {
            agent.uplink().offer(p.data, p.due_ns, p.tag);
            return 0;
        });
        agent.uplink().deliver_to([this](const link_packet& p) {
            wired_up.offer(p.data, p.due_ns, p.tag);
            return 0;
        });
        wired_up.deliver_to([this](const link_packet& p) { return acknowledged(p); });
    }
    int arrive(const link_packet& p) {
        const auto s = *tcp::read_segment(p.data);
        const std::uint32_t n = (s.sequence - first) / size;
        EXPECT_TRUE(std::equal(p.data.begin(), p.data.end(), sent.at(n).begin(), sent.at(n).end()));
        received.insert(n);
        while (received.contains(expected)) ++expected;
        radio_up.offer(packet_of({.acknowledgement = first + expected * size, .up = true}),
                       p.due_ns, 0);
        return 0;
    }
    int acknowledged(const link_packet& p) {
        const std::uint32_t n = (tcp::read_segment(p.data)->acknowledgement - first) / size;
        if (n > next) {
            next = n, duplicates = 0, timeout = p.due_ns + 400 * ms;
        } else if (n == next && ++duplicates == 3) {
            ++fast_retransmissions;
            transmit(next, p.due_ns);
        }
        return 0;
    }
    void transmit(std::uint32_t n, std::int64_t t) {
        sent[n] = packet_of({.sequence = first + n * size, .data = size});
        wired_down.offer(sent[n], t, 0);
    }
    void run() {
        const std::vector<packet_link*> all{&wired_down, &agent.downlink(), &radio_down,
                                            &radio_up,   &agent.uplink(),   &wired_up};
        std::uint32_t new_one = 0;
        for (std::int64_t t = 0; next < segments && t < 200'000 * ms; t += ms / 4) {
            for (int pass = 0; pass < 3; ++pass)
                for (auto* link : all) link->advance(t);
            for (; new_one < segments && new_one < next + window; ++new_one) {
                if (new_one == next) timeout = t + 400 * ms;
                transmit(new_one, t);
            }
            if (t >= timeout) {
                ++timeouts;
                transmit(next, t);
                timeout = t + 400 * ms;
            }
            for (auto* link : all) ASSERT_EQ(link->sums().missing(), packets_bytes{});
            end_ns = t;
        }
        // What the wired network gave and the agent made is what the radio link got.
        const auto in = wired_down.sums().delivered, out = radio_down.sums().in;
        EXPECT_EQ(in + agent.count().retransmitted, out + agent.downlink().sums().queued);
        EXPECT_EQ(agent.uplink().sums().in, radio_up.sums().delivered);
        EXPECT_EQ(agent.uplink().sums().in,
                  wired_up.sums().in + agent.count().suppressed_duplicates +
                      agent.count().suppressed_old + agent.uplink().sums().queued);
        const auto& c = agent.count();
        EXPECT_EQ(c.retransmitted.packets, c.by_duplicate + c.by_partial + c.by_timeout);
    }

    static constexpr std::uint32_t segments = 600, window = 40;
    snoop agent;
    packet_model::wired_link radio_down, radio_up, wired_down, wired_up;
    std::uint32_t first;
    std::map<std::uint32_t, bytes> sent;
    std::set<std::uint32_t> received;
    std::uint32_t expected = 0, next = 0;
    int duplicates = 0;
    std::int64_t timeout = 400 * ms, end_ns = 0;
    std::uint64_t timeouts = 0, fast_retransmissions = 0;
};

TEST(Snoop, LosesNoPacketFromTheSumsAndHidesLossesInRandomWorlds) {
    std::uint64_t with = 0, without = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed)
        for (const double loss : {0.0, 0.02, 0.1}) {
            const auto first = static_cast<std::uint32_t>(0U - seed * 3000);  // wraps on the way
            world on(true, loss, seed, first), off(false, loss, seed, first);
            on.run();
            off.run();
            for (const world* w : {&on, &off}) ASSERT_EQ(w->next, world::segments) << seed;
            EXPECT_EQ(on.agent.cached(), packets_bytes{});
            EXPECT_EQ(off.agent.count().retransmitted, packets_bytes{});
            if (loss == 0) {
                EXPECT_EQ(on.agent.count().retransmitted, packets_bytes{});
                EXPECT_EQ(on.end_ns, off.end_ns);
            }
            with += on.timeouts + on.fast_retransmissions;
            without += off.timeouts + off.fast_retransmissions;
        }
    EXPECT_LT(10 * with, without) << "the sender sees less than a tenth of the losses";
}

}  // namespace
}  // namespace wip
