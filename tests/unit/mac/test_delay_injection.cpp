// SPDX-License-Identifier: GPL-3.0-or-later
// Delay injection against vectors computed by hand, and in random worlds.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "packet/wired_link.h"
#include "port/link_chain.h"
#include "relay/delay_injection.h"
#include "types/splitmix64.h"
#include "wire/ip_header.h"
#include "wire/tcp_options.h"

namespace wip {
namespace {

using mode = delay_injection_config::mode;
using reading = delay_injection_config::reading;
using bytes = std::vector<std::uint8_t>;
constexpr std::int64_t ms = 1'000'000;

struct ack {
    std::uint32_t echo = 0;
    std::uint16_t port = 5000;
    std::uint32_t number = 0;  // number of the packet, in its sequence number
    std::uint8_t flags = tcp::ack;
    std::size_t data = 0;
    bool timestamps = true;
    int version = 4;
    std::uint8_t protocol = tcp::protocol;
};

void put(bytes& p, std::size_t at, std::uint32_t v, int size) {
    for (int i = 0; i < size; ++i)
        p[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(v >> 8 * (size - 1 - i));
}

bytes packet_of(const ack& a) {
    const std::size_t ip = a.version == 4 ? 20 : 40, header = a.timestamps ? 32 : 20;
    bytes p(ip + header + a.data);
    if (a.version == 4) {
        p[0] = 0x45, p[8] = 64, p[9] = a.protocol;
        put(p, 2, static_cast<std::uint32_t>(p.size()), 2);
        put(p, 12, 0x0a2a0001, 4);
        put(p, 16, 0x0a2a0002, 4);
        put(p, 10, ~internet_sum(std::span(p).first(20)) & 0xffff, 2);
    } else {
        p[0] = 0x60, p[6] = a.protocol;
        put(p, 4, static_cast<std::uint32_t>(p.size() - 40), 2);
    }
    put(p, ip, 80, 2);
    put(p, ip + 2, a.port, 2);
    put(p, ip + 4, a.number, 4);
    p[ip + 12] = static_cast<std::uint8_t>(header / 4 << 4);
    p[ip + 13] = a.flags;
    if (a.timestamps) {
        p[ip + 20] = p[ip + 21] = 1;
        p[ip + 22] = tcp::option_timestamps, p[ip + 23] = 10;
        put(p, ip + 28, a.echo, 4);
    }
    return p;
}

struct departure {
    std::uint32_t number;
    std::uint16_t port;
    double at_ms;
};

// A stage, and when its packets left.
class stage {
public:
    explicit stage(const delay_injection_config& c) : link(c) {
        link.deliver_to([this](const link_packet& p) {
            const std::size_t ip = p.data[0] >> 4 == 4 ? 20 : 40;
            out.push_back({tcp::read32(p.data, ip + 4), tcp::read16(p.data, ip + 2),
                           static_cast<double>(p.due_ns) * 1e-6});
            return 0;
        });
    }
    void give(std::int64_t now_ns, const ack& a) {
        run(now_ns);
        link.offer(packet_of(a), now_ns, 7);
    }
    void run(std::int64_t now_ns) {
        while (link.next_wakeup() <= now_ns) link.advance(link.next_wakeup());
    }
    double left(std::uint32_t number) const {
        for (const auto& d : out)
            if (d.number == number) return d.at_ms;
        return -1;
    }
    delay_injection link;
    std::vector<departure> out;
};

constexpr delay_injection_config adaptive{.kind = mode::adaptive};

TEST(DelayRule, ThresholdsAndDelaysAreTheGoldenOnes) {
    delay_rule rule(adaptive);
    EXPECT_EQ(rule.threshold_ms(), std::numeric_limits<double>::infinity());
    for (int k = 0; k < 10; ++k) EXPECT_FALSE(rule.on_sample(40, false).spike);
    EXPECT_NEAR(rule.threshold_ms(), 43.003, 0.0005);
    EXPECT_TRUE(rule.on_sample(160, false).spike);
    EXPECT_DOUBLE_EQ(rule.delay_ms(), 80);
    EXPECT_NEAR(rule.threshold_ms(), 162.253, 0.0005);
    EXPECT_DOUBLE_EQ(rule.on_sample(42, false).hold_ms, 80);
    EXPECT_NEAR(rule.threshold_ms(), 145.189, 0.0005);
    EXPECT_DOUBLE_EQ(rule.delay_ms(), 78.4);
    rule.on_sample(40, true);
    EXPECT_NEAR(rule.threshold_ms(), 132.267, 0.0005);
    EXPECT_DOUBLE_EQ(rule.delay_ms(), 76.8);
}

// Ten samples of 40 ms, a spike of 160 at 10 s, then acknowledgements 1 .. 4 after so many ms.
std::vector<double> departures(delay_injection_config c, std::uint32_t clock = 0, int version = 4) {
    stage st(c);
    const std::int64_t t0 = 10'000;
    const auto give = [&](std::int64_t at, std::int64_t p, std::uint32_t number) {
        st.give(at * ms, {.echo = clock + static_cast<std::uint32_t>(at - p),
                          .number = number,
                          .version = version});
    };
    for (std::int64_t i = 0; i < 10; ++i) give(t0 - 2000 + 100 * i, 40, 100);
    give(t0, 160, 0);
    std::uint32_t number = 1;
    for (const std::int64_t after : {10, 30, 95, 100})
        give(t0 + after, number == 1 ? 42 : 40, number), ++number;
    st.run(t0 * ms + 1000 * ms);
    EXPECT_TRUE(st.link.idle());
    std::vector<double> at;
    for (std::uint32_t n = 0; n < number; ++n) at.push_back(st.left(n) - static_cast<double>(t0));
    return at;
}

void expect_times(const std::vector<double>& times, const std::vector<double>& expected) {
    ASSERT_EQ(times.size(), expected.size());
    for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 1e-5) << i;
}

TEST(DelayInjection, DeparturesAreTheGoldenOnesWhateverTheSendersClock) {
    for (const std::uint32_t clock : {0U, 77U, 0xffffd900U})
        expect_times(departures(adaptive, clock), {0, 90, 90, 171.8, 171.8});
    expect_times(departures(adaptive, 5, 6), {0, 90, 90, 171.8, 171.8});
}

TEST(DelayInjection, TheListingAndTheFigureCanBeFollowedInstead) {
    auto c = adaptive;
    c.read_as = reading::listing;  // 78.4 ms after the spike's own delay; then 76.8 and 75.2 ms
    expect_times(departures(c), {0, 88.4, 88.4, 170.2, 170.2});
    c.read_as = reading::figure;
    expect_times(departures(c), {0, 90, 90, 173.4, 173.4});
}

TEST(DelayInjection, AStaticDelayIsHeldForAsManyAcknowledgements) {
    auto c = adaptive;
    c.kind = mode::fixed;
    expect_times(departures(c), {0, 70, 70, 155, 155});
    c.static_ms = 0;
    expect_times(departures(c), {0, 10, 30, 95, 100});
    c.kind = mode::off;
    expect_times(departures(c), {0, 10, 30, 95, 100});
    c = adaptive;
    c.most_delay_ms = 20;
    expect_times(departures(c), {0, 30, 49.6, 114.2, 114.2});  // 20, 19.6, 19.2
}

// A stage whose flow holds for about 80 ms from 1 s on.
struct holding : stage {
    explicit holding(const delay_injection_config& c = adaptive) : stage(c) {
        for (std::uint32_t i = 0; i < 10; ++i)
            give(i * 100 * ms, {.echo = i * 100 - 40, .number = 100});
        give(1000 * ms, {.echo = 840, .number = 100});
        run(1000 * ms);
    }
};

TEST(DelayInjection, WhatIsNoPureAcknowledgementPassesBehindWhatIsHeld) {
    const std::vector<ack> passing{{.flags = tcp::ack | tcp::fin},
                                   {.flags = tcp::rst},
                                   {.flags = tcp::syn | tcp::ack},
                                   {.data = 100},
                                   {.timestamps = false}};
    for (ack a : passing) {
        holding st;
        st.give(1010 * ms, {.echo = 970, .number = 1});
        a.number = 2;
        st.give(1015 * ms, a);
        st.run(1015 * ms);
        EXPECT_EQ(st.left(1), 1015);
        EXPECT_EQ(st.left(2), 1015);
        EXPECT_EQ(st.out.back().number, 2U);
    }
    // Another flow and what cannot be read hold nobody up and let nobody go.
    holding st;
    st.give(1010 * ms, {.echo = 970, .number = 1});
    st.give(1012 * ms, {.port = 9, .number = 2});
    st.give(1013 * ms, {.number = 3, .protocol = 50});
    st.run(1013 * ms);
    EXPECT_EQ(st.left(1), -1);
    EXPECT_EQ(st.left(2), 1012);
    EXPECT_EQ(st.left(3), 1013);
    EXPECT_EQ(st.link.held_now(), 1U);
    delay_injection odd(adaptive);
    EXPECT_TRUE(odd.offer(bytes{1, 2, 3}, 5));
    EXPECT_TRUE(odd.offer({}, 5));
    EXPECT_EQ(odd.next_wakeup(), 5);
}

TEST(DelayInjection, ASpikeInAHoldLetsItGoFirst) {
    holding st;
    st.give(1010 * ms, {.echo = 970, .number = 1});
    st.give(1020 * ms, {.echo = 20, .number = 2});  // 1 s
    st.run(1020 * ms);
    EXPECT_EQ(st.left(1), 1020);
    EXPECT_EQ(st.out.back().number, 2U);
    EXPECT_EQ(st.link.count().spikes, 2U);
    EXPECT_EQ(st.link.count().released_early, 1U);
}

TEST(DelayInjection, AFullHoldLeaves) {
    auto c = adaptive;
    c.most_held = 3;
    holding st(c);
    for (std::uint32_t i = 0; i < 4; ++i)
        st.give((1010 + i) * ms, {.echo = 970 + i, .number = 1 + i});
    st.run(1013 * ms);
    EXPECT_EQ(st.left(3), 1013);
    EXPECT_EQ(st.left(4), 1013);
    EXPECT_EQ(st.link.count().released_early, 3U);
}

TEST(DelayInjection, FlowsAreForgottenAndMakeRoom) {
    auto c = adaptive;
    c.most_flows = 2;
    c.expiry_s = 5;
    holding st(c);
    st.give(1010 * ms, {.echo = 970, .number = 1});
    st.give(1011 * ms, {.port = 8});
    st.give(1012 * ms, {.port = 9});
    EXPECT_EQ(st.link.flows(), 2U);
    EXPECT_EQ(st.link.count().evicted, 1U);
    st.run(1012 * ms);
    EXPECT_EQ(st.left(1), 1012);
    // The first sample of a flow is never a spike, after so long neither.
    st.give(7000 * ms, {.echo = 500, .port = 9});
    EXPECT_EQ(st.link.count().expired, 1U);
    EXPECT_EQ(st.link.count().spikes, 1U);
}

TEST(DelayInjection, FlushAndAnotherModeLetEverythingGo) {
    for (const bool flush : {true, false}) {
        holding st;
        st.give(1010 * ms, {.echo = 970, .number = 1});
        st.give(1020 * ms, {.echo = 980, .number = 2});
        if (flush)
            st.link.flush(1030 * ms);
        else
            st.link.reconfigure({}, 1030 * ms);
        EXPECT_EQ(st.link.next_wakeup(), 1030 * ms);
        st.run(1030 * ms);
        EXPECT_TRUE(st.link.idle());
        EXPECT_EQ(st.left(1), 1030);
        EXPECT_EQ(st.out.back().number, 2U);
    }
}

TEST(DelayInjection, TellsTheLastSampleAndAlwaysAThreshold) {
    stage st(adaptive);
    st.give(1000 * ms, {.echo = 960});
    // threshold of the next one: 4 times 10 ms above the first
    EXPECT_EQ(st.link.count().threshold_ms, 40);
    st.give(1100 * ms, {.echo = 900});
    EXPECT_EQ(st.link.count().threshold_ms, 40);
    EXPECT_EQ(st.link.count().pdelay_ms, 160);
    EXPECT_EQ(st.link.count().spikes, 1U);
    EXPECT_EQ(st.link.count().last_ns, 1100 * ms);
    st.give(1200 * ms, {.data = 10});
    EXPECT_EQ(st.link.count().last_ns, 1100 * ms) << "no sample";
}

TEST(DelayInjection, RefusesWhatMakesNoSense) {
    EXPECT_THROW(delay_injection({.factor = 0}), std::invalid_argument);
    EXPECT_THROW(delay_injection({.static_ms = -1}), std::invalid_argument);
    delay_injection d({});
    EXPECT_THROW(d.reconfigure({.most_held = 0}, 0), std::invalid_argument);
}

// Flows of acknowledgements with all that can happen to them: order is kept in each flow, nothing
// waits longer than the cap, all that comes leaves unaltered, and sender's clocks do not matter.
std::vector<double> random_world(std::uint64_t seed, bool other_clocks,
                                 delay_injection::statistics& counts) {
    splitmix64 draw(seed), clock(seed + 99);
    const auto up_to = [&draw](std::uint64_t n) {
        return static_cast<std::uint32_t>(draw.next() % n);
    };
    delay_injection_config c{.kind = up_to(4) == 0 ? mode::fixed : mode::adaptive,
                             .read_as = static_cast<reading>(up_to(3)),
                             .most_delay_ms = 50.0 + up_to(300),
                             .most_held = 1 + static_cast<int>(up_to(40)),
                             .most_flows = 1 + static_cast<int>(up_to(6)),
                             .expiry_s = 0.05 + 0.1 * up_to(20)};
    const double cap =
        c.kind == mode::fixed ? std::max(c.most_delay_ms, c.static_ms) : c.most_delay_ms;
    stage st(c);
    std::vector<std::uint32_t> offset(6);
    for (auto& o : offset) o = other_clocks ? static_cast<std::uint32_t>(clock.next()) : 0;
    std::vector<double> came;
    std::int64_t now = 0;
    for (std::uint32_t n = 0; n < 600; ++n) {
        now += up_to(20) * ms / 2;
        const std::uint32_t flow = up_to(6);
        const std::uint32_t p = 40 + up_to(5) + (up_to(12) == 0 ? up_to(400) : 0);
        const std::uint32_t odd = up_to(60);
        ack a{.echo = offset[flow] + static_cast<std::uint32_t>(now / ms) - p,
              .port = static_cast<std::uint16_t>(flow),
              .number = n};
        if (odd == 0) a.flags = tcp::syn | tcp::ack;
        if (odd == 1) a.flags = tcp::rst;
        if (odd == 2) a.data = 10;
        if (odd == 3) a.timestamps = false;
        st.give(now, a);
        if (odd == 4) st.link.flush(now);
        if (up_to(300) == 0) st.link.reconfigure(c, now);
        came.push_back(static_cast<double>(now) * 1e-6);
        EXPECT_EQ(st.link.sums().missing(), packets_bytes{});
    }
    st.run(now + 100'000 * ms);
    counts = st.link.count();
    EXPECT_TRUE(st.link.idle());
    EXPECT_EQ(st.out.size(), came.size());
    std::vector<double> times;
    std::map<std::uint16_t, std::uint32_t> last;
    for (const auto& d : st.out) {
        const auto before = last.find(d.port);
        EXPECT_TRUE(before == last.end() || d.number > before->second) << "order, seed " << seed;
        last[d.port] = d.number;
        EXPECT_GE(d.at_ms, came[d.number]);
        EXPECT_LE(d.at_ms, came[d.number] + cap + 1e-3);
        times.push_back(d.at_ms);
    }
    return times;
}

TEST(DelayInjection, KeepsOrderAndCapsInRandomWorldsWhateverTheClocks) {
    delay_injection::statistics all, one;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto times = random_world(seed, false, one);
        EXPECT_EQ(times.size(), 600U);
        EXPECT_EQ(times, random_world(seed, true, one)) << seed;
        EXPECT_GT(one.spikes, 0U) << seed;
        all.held += one.held;
        all.released_early += one.released_early;
        all.evicted += one.evicted;
        all.expired += one.expired;
    }
    // Each kind of event has happened in the worlds, most of them often.
    EXPECT_GT(all.held, 1000U);
    EXPECT_GT(all.released_early, 500U);
    EXPECT_GT(all.evicted, 100U);
    EXPECT_GT(all.expired, 20U);
}

TEST(DelayInjection, IsAStageOfAChain) {
    stage st(adaptive);
    packet_model::wired_link line({.delay_ms = 5}, 1);
    link_chain chain(st.link, line);
    std::vector<std::int64_t> due;
    chain.deliver_to([&](const link_packet& p) {
        due.push_back(p.due_ns);
        return 0;
    });
    for (std::uint32_t i = 0; i < 10; ++i) {
        chain.advance(i * 100 * ms);
        chain.offer(packet_of({.echo = i * 100 - 40}), i * 100 * ms);
    }
    chain.advance(1000 * ms);
    chain.offer(packet_of({.echo = 840}), 1000 * ms);
    chain.advance(1010 * ms);
    chain.offer(packet_of({.echo = 968}), 1010 * ms);
    EXPECT_FALSE(chain.idle());
    EXPECT_EQ(chain.sums().missing(), packets_bytes{});
    chain.advance(2000 * ms);
    EXPECT_TRUE(chain.idle());
    ASSERT_EQ(due.size(), 12U);
    EXPECT_EQ(due[10], 1005 * ms);
    EXPECT_EQ(due[11], 1095 * ms);  // 80 ms and the line
    EXPECT_EQ(chain.sums().missing(), packets_bytes{});
}

}  // namespace
}  // namespace wip
