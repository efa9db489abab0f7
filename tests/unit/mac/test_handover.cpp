// SPDX-License-Identifier: GPL-3.0-or-later
// Handovers between networks: the exact times of Teyeb (2006), chapter 7 and appendix E, what
// becomes of packets, what moves a terminal, and that nothing is lost unseen in random worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "handover/handover.h"
#include "packet/wired_link.h"
#include "packets.h"

namespace wip::hetnet {
namespace {

using way = handover::way;
using bytes = std::vector<std::uint8_t>;
constexpr std::int64_t us = 1000, ms = 1'000'000, s = 1'000'000'000;

handover::make_line lines() {
    return [purpose = 1U](way) mutable {
        packet_model::wired_config c;
        c.queue_packets = setting::to_base_queue_packets.high;
        c.held_mb = setting::to_base_held_mb.high;
        return std::make_unique<packet_model::wired_link>(c, purpose++);
    };
}

handover_config config_of(const char* networks = "WLAN,UMTS,GPRS", const char* plan = "") {
    handover_config c;
    c.networks = networks_of(networks);
    c.plan = plan_of(plan, c.networks);
    return c;
}

struct arrival {
    std::uint32_t number = 0;
    int tag = 0;
    std::int64_t due_ns = 0;
    bool operator==(const arrival&) const = default;
};

// Packets with numbers in both directions, in their last four bytes.
class world {
public:
    explicit world(const handover_config& c) : link(c, lines()) {
        for (const way w : {way::down, way::up})
            port(w).deliver_to([this, w](const link_packet& p) {
                const std::uint32_t number = number_of(p.data);
                EXPECT_EQ(p.offered_ns, offered_at[number]);
                arrived[w].push_back({number, p.tag, p.due_ns});
                return 0;
            });
    }
    packet_link& port(way w) { return w == way::down ? link.downlink() : link.uplink(); }
    std::uint32_t offer(way w, std::size_t size, std::int64_t t, int tag = 0) {
        advance(t);
        bytes packet(size, 0x45);
        const std::uint32_t number = next_++;
        for (std::size_t i = 0; i < 4; ++i)
            packet[size - 1 - i] = static_cast<std::uint8_t>(number >> (8 * i));
        offered_at[number] = t;
        port(w).offer(packet, t, tag);
        check();
        return number;
    }
    void advance(std::int64_t t) {
        for (std::int64_t at = link.next_wakeup(); at < t; at = link.next_wakeup()) {
            link.advance(at);
            check();
        }
        link.advance(t);
        check();
    }
    void check() {
        for (const way w : {way::down, way::up}) {
            EXPECT_EQ(link.sums(w).missing(), packets_bytes{});
            EXPECT_EQ(port(w).idle(), link.sums(w).queued == packets_bytes{});
        }
    }
    std::vector<std::uint32_t> numbers(way w) {
        std::vector<std::uint32_t> all;
        for (const auto& a : arrived[w]) all.push_back(a.number);
        return all;
    }
    std::uint64_t dropped(way w, const std::string& reason) {
        for (const auto& d : link.sums(w).dropped)
            if (reason == d.reason) return d.count.packets;
        ADD_FAILURE() << "no reason " << reason;
        return 0;
    }
    static std::uint32_t number_of(std::span<const std::uint8_t> p) {
        std::uint32_t n = 0;
        for (std::size_t i = 4; i > 0; --i) n = n << 8 | p[p.size() - i];
        return n;
    }

    handover link;
    std::map<way, std::vector<arrival>> arrived;
    std::map<std::uint32_t, std::int64_t> offered_at;

private:
    std::uint32_t next_ = 0;
};

// --- appendix E ---

TEST(Handover, DataLeaveWlanEveryTwelveMilliseconds) {
    world w(config_of("WLAN"));
    for (int i = 0; i < 5; ++i) w.offer(way::down, 1500, 0);
    w.advance(s);
    for (std::size_t i = 0; i < 5; ++i)
        EXPECT_EQ(w.arrived[way::down][i].due_ns,
                  12 * ms * (static_cast<std::int64_t>(i) + 1) + 5 * ms);
}

TEST(Handover, APacketTakesItsLengthOverTheRateAndTheLatency) {
    world umts(config_of("UMTS"));
    umts.offer(way::down, 1500, 0);
    umts.offer(way::up, 52, 0);
    umts.advance(s);
    EXPECT_EQ(umts.arrived[way::down][0].due_ns, 106250 * us);
    EXPECT_EQ(umts.arrived[way::up][0].due_ns, 88 * ms);
    world wlan(config_of("WLAN"));
    wlan.offer(way::up, 52, 0);
    wlan.advance(s);
    EXPECT_EQ(wlan.arrived[way::up][0].due_ns, 11500 * us);
    world gprs(config_of("GPRS"));
    gprs.offer(way::down, 1500, 0);
    gprs.advance(s);
    EXPECT_EQ(gprs.arrived[way::down][0].due_ns, 725 * ms);
}

// --- figure 7.2: 5 to 8 are on the way when the handover begins, 9, 10 and R come during it ---

struct figure_7_2 {
    explicit figure_7_2(buffering keep, way w, double delay_s = 5)
        : world_(configured(keep, delay_s)) {
        for (int i = 0; i < 5; ++i) world_.offer(w, 600, 0);  // 0 and 5 to 8, as 1 to 4
        world_.advance(begins(w));
        EXPECT_EQ(world_.numbers(w), (std::vector<std::uint32_t>{0}));
        world_.link.go_to({1, 0}, begins(w));
        world_.check();
        for (int i = 0; i < 3; ++i) world_.offer(w, 600, 500 * ms + i * s);  // 9, 10, R
        world_.advance(100 * s);
        EXPECT_TRUE(world_.port(w).idle());
    }
    static handover_config configured(buffering keep, double delay_s) {
        handover_config c = config_of();
        c.keep = keep;
        c.delay_s = delay_s;
        return c;
    }
    // The time at which the first packet has left WLAN and the second one has not.
    static std::int64_t begins(way w) { return w == way::down ? 10 * ms : 100 * ms; }
    world world_;
};

TEST(Handover, FigureOfTheThreeWaysToBuffer) {
    for (const way w : {way::down, way::up}) {
        figure_7_2 none(buffering::none, w), intermediate(buffering::intermediate, w),
            full(buffering::full, w);
        using numbers = std::vector<std::uint32_t>;
        EXPECT_EQ(none.world_.numbers(w), (numbers{0}));
        EXPECT_EQ(intermediate.world_.numbers(w), (numbers{0, 5, 6, 7}));
        EXPECT_EQ(full.world_.numbers(w), (numbers{0, 1, 2, 3, 4, 5, 6, 7}));
        EXPECT_EQ(none.world_.dropped(w, "handover_in_flight"), 4U);
        EXPECT_EQ(none.world_.dropped(w, "handover_arrived"), 3U);
        EXPECT_EQ(intermediate.world_.dropped(w, "handover_in_flight"), 4U);
        EXPECT_EQ(intermediate.world_.dropped(w, "handover_arrived"), 0U);
        EXPECT_EQ(full.world_.link.sums(w).delivered.packets, 8U);
        // Each as if it came at the end, over UMTS: one after the other.
        const std::int64_t each = w == way::down ? 12500 * us : 150 * ms;
        for (std::size_t i = 1; i < 8; ++i)
            EXPECT_EQ(full.world_.arrived[w][i].due_ns,
                      full.begins(w) + 5075 * ms + static_cast<std::int64_t>(i) * each);
    }
}

TEST(Handover, NothingLeavesWhileItLasts) {
    for (const auto keep : {buffering::none, buffering::intermediate, buffering::full}) {
        handover_config c = config_of("WLAN,UMTS,GPRS", "1s@UMTS");
        c.keep = keep;
        c.delay_s = 2;
        world w(c);
        for (int i = 0; i < 400; ++i) w.offer(i % 2 == 0 ? way::down : way::up, 200, i * 10 * ms);
        w.advance(100 * s);
        for (const way d : {way::down, way::up})
            for (const auto& a : w.arrived[d])
                EXPECT_FALSE(a.due_ns > s && a.due_ns < 3 * s) << a.due_ns;
        ASSERT_EQ(w.link.latest().size(), 1U);
        EXPECT_EQ(w.link.latest()[0].began_ns, s);
        EXPECT_EQ(w.link.latest()[0].over_ns, 3 * s);
        EXPECT_EQ(w.link.count().handing_over_ns, 2 * s);
    }
}

// The amount that a line could have carried is the rate of each network for the time in it.
TEST(Handover, TheCapacityIsThatOfTheNetworksWithoutTheHandover) {
    handover_config c = config_of("WLAN,UMTS,GPRS", "1s@UMTS");
    c.delay_s = 2;
    world w(c);
    w.advance(10 * s);
    EXPECT_NEAR(w.link.capacity_bits(way::down), 1000e3 * 1 + 384e3 * 7, 1);
    EXPECT_NEAR(w.link.capacity_bits(way::up), 64e3 * 1 + 32e3 * 7, 1);
}

// --- what moves a terminal ---

// The text's own download (appendix E): what has come when the handover begins is the first segment
// edge at or above half of 2^20 bytes.
TEST(Handover, BytesOfTheApplicationsMoveTheTerminal) {
    handover_config c = config_of("WLAN,UMTS", "524288B@UMTS");
    c.keep = buffering::none;
    handover link(c, lines());
    std::uint64_t delivered = 0;
    std::int64_t last = 0;
    link.downlink().deliver_to([&](const link_packet& p) {
        delivered += p.data.size() - 40;
        last = p.due_ns;
        return 0;
    });
    // TCP over IPv4 without options; then no more than 10 are on the way.
    bytes packet = test::ipv4(1500, 0x50, 6);
    std::int64_t t = 0;
    for (int i = 0; i < 500 && link.count().handovers == 0; ++i) {
        link.advance(t);
        link.downlink().offer(packet, t);
        if (i >= 10) t = link.next_wakeup();
    }
    ASSERT_EQ(link.count().handovers, 1U);
    EXPECT_EQ(delivered, 360U * 1460U);  // the first multiple of 1460 at or above
    EXPECT_EQ(link.count().application_bytes, delivered);
    EXPECT_EQ(link.latest()[0].began_ns, last);
    EXPECT_EQ(link.here(), (place{1, 0}));
}

// An answer that the terminal gives at once is on its way when a handover begins a little later,
// and is dropped, as the two acknowledgements of appendix E.
TEST(Handover, BytesMayMoveTheTerminalALittleLater) {
    for (const bool later : {false, true}) {
        handover_config c =
            config_of("WLAN,UMTS", later ? "2000B+0.001s@UMTS,9s@WLAN" : "2000B@UMTS,9s@WLAN");
        c.keep = buffering::none;
        handover link(c, lines());
        int answered = 0;
        link.uplink().deliver_to([&](const link_packet&) { return ++answered, 0; });
        for (int i = 0; i < 2; ++i) link.downlink().offer(test::ipv4(1500, 0x50, 6), 0);
        for (const std::int64_t delivered : {17 * ms, 29 * ms}) {
            link.advance(delivered);
            link.advance(delivered + 10 * us);
            link.uplink().offer(bytes(52, 0x45), delivered + 10 * us);
        }
        link.advance(5 * s);
        ASSERT_EQ(link.latest().size(), 1U);
        EXPECT_EQ(link.latest()[0].began_ns, 29 * ms + (later ? ms : 0));
        EXPECT_EQ(answered, later ? 1 : 2);
        EXPECT_EQ(link.sums(way::up).missing(), packets_bytes{});
        link.advance(10 * s);
        EXPECT_EQ(link.latest().size(), 2U);
    }
}

TEST(Handover, TimesMoveTheTerminalInTheOrderOfThePlan) {
    handover_config c = config_of("WLAN,UMTS,GPRS", "1s@UMTS,2.5s@GPRS,4s@WLAN");
    c.delay_s = 0.25;
    world w(c);
    const auto at = [&](std::int64_t t) {
        w.advance(t);
        return text_of(w.link.here(), w.link.networks());
    };
    EXPECT_EQ(at(s - 1), "WLAN");
    EXPECT_EQ(at(s), "WLAN");
    EXPECT_TRUE(w.link.is_handing_over());
    EXPECT_EQ(w.link.destination(), (place{1, 0}));
    EXPECT_EQ(at(s + 250 * ms), "UMTS");
    EXPECT_EQ(at(3 * s), "GPRS");
    EXPECT_EQ(at(5 * s), "WLAN");
    EXPECT_EQ(w.link.count().handovers, 3U);
}

TEST(Handover, OneThatIsAskedForDuringAnotherFollowsIt) {
    handover_config c = config_of();
    c.delay_s = 2;
    world w(c);
    w.link.go_to({1, 0}, s);
    w.link.go_to({0, 0}, 2 * s);  // the next line replaces this move
    w.link.go_to({2, 0}, 2 * s);
    EXPECT_EQ(w.link.destination(), (place{2, 0}));
    w.advance(10 * s);
    ASSERT_EQ(w.link.latest().size(), 2U);
    EXPECT_EQ(w.link.latest()[1].from, (place{1, 0}));
    EXPECT_EQ(w.link.latest()[1].began_ns, 3 * s);
    EXPECT_EQ(w.link.latest()[1].over_ns, 5 * s);
    // To where it is going: nothing.
    w.link.go_to({1, 0}, 10 * s);
    w.link.go_to({1, 0}, 11 * s);
    w.advance(20 * s);
    EXPECT_EQ(w.link.count().handovers, 3U);
    w.link.go_to({1, 0}, 21 * s);
    EXPECT_EQ(w.link.count().handovers, 3U);
}

TEST(Handover, AnotherStateOfTheSameNetworkIsNoHandover) {
    handover_config c = config_of("lab:1000/100/10+100/100/30", "1s@lab.2");
    c.keep = buffering::none;
    c.delay_s = 5;
    world w(c);
    w.offer(way::down, 1000, 995 * ms);  // 8 ms on the line, there at 1013 ms
    w.offer(way::down, 1000, s + 1);     // 80 ms behind the end of the first
    w.advance(2 * s);
    EXPECT_EQ(w.link.count().handovers, 0U);
    EXPECT_EQ(w.link.count().state_changes, 1U);
    EXPECT_EQ(w.arrived[way::down][0].due_ns, 1013 * ms);
    EXPECT_EQ(w.arrived[way::down][1].due_ns, 1003 * ms + 80 * ms + 30 * ms);
}

TEST(Handover, AChainOfOnesGoesRound) {
    handover_config c = config_of();
    c.network_timer_s = 2;
    c.network_chain = {{0, 1, 0}, {0, 0, 1}, {1, 0, 0}};
    world w(c);
    for (int i = 0; i < 9; ++i) {
        w.advance(i * 2 * s + s);
        EXPECT_EQ(w.link.here().network, i % 3);
    }
    EXPECT_EQ(w.link.count().handovers, 8U);
}

// How often a chain takes each step, over 20000 decisions: within 4.5 standard deviations.
TEST(Handover, AChainTakesItsStepsWithTheirProbabilities) {
    handover_config c = config_of("a:100/100/1+50/50/1+25/25/1,b:10/10/1");
    c.network_timer_s = 1;
    c.network_chain = {{0.7, 0.3}, {0.2, 0.8}};
    c.state_timer_ms = 100;
    c.state_chains = {{{0.5, 0.25, 0.25}, {0.1, 0.9, 0}, {0.4, 0.2, 0.4}}, {{1}}};
    handover link(c, lines()), again(c, lines());
    constexpr int decisions = 20000;
    std::map<std::pair<int, int>, int> networks, states;
    place before = link.here();
    const auto within = [](int hits, int total, double p) {
        return std::abs(hits - total * p) <= 4.5 * std::sqrt(total * p * (1 - p)) + 1e-9;
    };
    for (std::int64_t t = 100 * ms; t <= decisions * s; t += 100 * ms) {
        link.advance(t);
        const place now = link.here();
        if (t % s == 0)
            ++networks[{before.network, now.network}];
        else if (now.network == 0)
            ++states[{before.state, now.state}];
        before = now;
    }
    for (const auto& [chain, counted] :
         {std::pair{c.network_chain, networks}, std::pair{c.state_chains[0], states}})
        for (int from = 0; from < static_cast<int>(chain.size()); ++from) {
            int total = 0;
            for (const auto& [step, n] : counted) total += step.first == from ? n : 0;
            ASSERT_GT(total, 1000);
            for (int to = 0; to < static_cast<int>(chain.size()); ++to) {
                const auto at = counted.find({from, to});
                const auto row = static_cast<std::size_t>(from),
                           column = static_cast<std::size_t>(to);
                EXPECT_TRUE(within(at == counted.end() ? 0 : at->second, total, chain[row][column]))
                    << from << " to " << to;
            }
        }
    again.advance(decisions * s);
    EXPECT_EQ(again.here(), link.here());
    EXPECT_EQ(again.count().handovers, link.count().handovers);
    c.seed = 2;
    handover other(c, lines());
    other.advance(decisions * s);
    EXPECT_NE(other.count().handovers, link.count().handovers);
}

TEST(Handover, WithoutAMatrixEveryNetworkIsEquallyLikely) {
    handover_config c = config_of();
    c.network_timer_s = 1;
    handover link(c, lines());
    link.advance(9000 * s);
    EXPECT_NEAR(static_cast<double>(link.count().handovers), 6000, 4.5 * std::sqrt(9000 * 2 / 9.0));
}

// --- records of packets ---

TEST(Handover, TheWayOfEachPacketIsToldToTheNanosecond) {
    handover_config c = config_of("WLAN,UMTS", "0.02s@UMTS");
    c.keep = buffering::intermediate;
    c.delay_s = 1;
    world w(c);
    std::vector<packet_record> records;
    w.link.follow([&](const packet_record& r, int tag) {
        EXPECT_EQ(tag, 1);
        EXPECT_EQ(r.parts.sum(), r.left_ns - r.arrived_ns);
        records.push_back(r);
    });
    for (int i = 0; i < 3; ++i) w.offer(way::down, 1000, 0, 1);  // 8, 16, 24 ms on the line
    w.offer(way::down, 1000, 500 * ms, 1);
    w.advance(5 * s);
    ASSERT_EQ(records.size(), 4U);
    EXPECT_EQ(records[0].left_ns, 13 * ms);
    EXPECT_EQ(records[0].parts.air, 13 * ms);
    EXPECT_STREQ(records[0].dropped, "");
    EXPECT_STREQ(records[1].dropped, "handover_in_flight");  // on the line since 8 ms
    EXPECT_EQ(records[1].left_ns, 20 * ms);
    EXPECT_EQ(records[1].parts.air, 12 * ms);
    EXPECT_STREQ(records[2].dropped, "handover_in_flight");
    EXPECT_EQ(records[3].left_ns, 1020 * ms + 95833333);
    EXPECT_EQ(records[3].parts.air, 95833333);
    EXPECT_EQ(records[3].arrived_ns, 500 * ms);
}

// --- random worlds ---

struct random {
    explicit random(std::uint64_t seed) : dice(seed) {}
    int up_to(int n) { return static_cast<int>(dice.next() % static_cast<std::uint64_t>(n)); }
    splitmix64 dice;
};

handover_config drawn(random& r) {
    handover_config c;
    std::string networks;
    const int count = 2 + r.up_to(4);
    for (int n = 0; n < count; ++n) {
        networks += (n > 0 ? ",n" : "n") + std::to_string(n);
        const int states = 1 + r.up_to(3);
        for (int k = 0; k < states; ++k)
            networks += (k > 0 ? "+" : ":") + std::to_string(10 + r.up_to(3000)) + "/" +
                        std::to_string(10 + r.up_to(500)) + "/" + std::to_string(r.up_to(400));
    }
    c.networks = networks_of(networks);
    const std::array delays{0.0, 0.5, 2.0, 5.0};
    c.delay_s = delays[static_cast<std::size_t>(r.up_to(4))];
    const std::array modes{buffering::none, buffering::intermediate, buffering::full};
    c.keep = modes[static_cast<std::size_t>(r.up_to(3))];
    if (r.up_to(2) == 0) c.network_timer_s = 1 + r.up_to(4);
    if (r.up_to(2) == 0) c.state_timer_ms = 50 + r.up_to(900);
    if (r.up_to(2) == 0)
        c.plan = plan_of("3s@n1,20000B@n0,7s@n1." + std::to_string(c.networks[1].states.size()),
                         c.networks);
    if (r.up_to(3) == 0) c.held_mb = 0.02;
    c.seed = r.dice.next();
    return c;
}

// 30 s of packets both ways with moves by hand; then until all have left.
void play(world& w, std::uint64_t seed, int tags) {
    random r(seed);
    for (std::int64_t t = 0; t < 30 * s; t += r.up_to(60) * ms + 1) {
        for (int i = r.up_to(4); i > 0; --i)
            w.offer(r.up_to(3) == 0 ? way::up : way::down,
                    static_cast<std::size_t>(24 + r.up_to(1476)), t, r.up_to(tags));
        if (r.up_to(100) == 0) {
            const int n = r.up_to(static_cast<int>(w.link.networks().size()));
            w.link.go_to({n, 0}, t);
            w.check();
        }
        if (r.up_to(200) == 0) w.link.set_delay(0.1 * r.up_to(30));
    }
    for (std::int64_t t = 31 * s;
         t < 4000 * s && !(w.port(way::down).idle() && w.port(way::up).idle()); t += s)
        w.advance(t);
}

TEST(Handover, RandomWorldsKeepOrderAndLoseNothingUnseen) {
    std::uint64_t in_flight = 0, meanwhile = 0, full = 0, delivered = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        random r(seed);
        const handover_config c = drawn(r);
        world w(c);
        play(w, seed + 1000, 3);
        for (const way d : {way::down, way::up}) {
            EXPECT_TRUE(w.port(d).idle()) << seed;
            const auto numbers = w.numbers(d);
            EXPECT_TRUE(std::ranges::is_sorted(numbers)) << seed;
            EXPECT_EQ(w.link.sums(d).delivered.packets, numbers.size());
            delivered += numbers.size();
            in_flight += w.dropped(d, "handover_in_flight");
            meanwhile += w.dropped(d, "handover_arrived");
            full += w.dropped(d, "handover_held_full");
            if (c.keep == buffering::full) {
                EXPECT_EQ(w.dropped(d, "handover_in_flight"), 0U);
            }
        }
        world same(c);
        play(same, seed + 1000, 3);
        EXPECT_EQ(same.arrived, w.arrived) << seed;
    }
    EXPECT_GT(delivered, 10000U);
    EXPECT_GT(in_flight, 100U);
    EXPECT_GT(meanwhile, 100U);
    EXPECT_GT(full, 100U);
}

TEST(Handover, WithoutDelayIntermediateIsNone) {
    int differed = 0;
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        random r(seed);
        handover_config c = drawn(r);
        c.delay_s = 0;
        c.keep = buffering::none;
        world none(c);
        c.keep = buffering::intermediate;
        world intermediate(c);
        c.delay_s = 1;
        world later(c);
        random moves(seed);
        for (std::int64_t t = 0; t < 20 * s; t += moves.up_to(50) * ms + 1) {
            const auto size = static_cast<std::size_t>(24 + moves.up_to(1476));
            const way d = moves.up_to(2) == 0 ? way::up : way::down;
            for (auto* w : {&none, &intermediate, &later}) w->offer(d, size, t);
            if (moves.up_to(40) != 0) continue;
            const place to{moves.up_to(static_cast<int>(c.networks.size())), 0};
            for (auto* w : {&none, &intermediate, &later}) w->link.go_to(to, t);
        }
        for (auto* w : {&none, &intermediate, &later}) w->advance(4000 * s);
        EXPECT_EQ(none.arrived, intermediate.arrived) << seed;
        differed += none.arrived != later.arrived;
    }
    EXPECT_GT(differed, 25);
}

}  // namespace
}  // namespace wip::hetnet
