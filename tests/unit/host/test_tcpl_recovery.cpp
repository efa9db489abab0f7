// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "relay/tcpl_recovery.h"
#include "wire/ip_header.h"

namespace wip::tcpl {
namespace {

using packet = std::vector<std::uint8_t>;
constexpr std::uint8_t fin = 1, syn = 2, rst = 4, psh = 8, ack = 16,
                       urg = 32;                                     // flags of a TCP header
constexpr std::uint32_t server = 0x0a2a0001, terminal = 0x0a2a0002;  // 10.42.0.1 and 10.42.0.2
constexpr std::size_t ip = 20;                                       // bytes of an IPv4 header

struct segment {
    std::uint32_t from = server, to = terminal;
    std::uint16_t from_port = 5001, to_port = 40000;
    std::uint32_t seq = 0, acked = 0;
    std::uint8_t flags = ack;
    std::uint16_t window = 500;
    packet options = {};
    std::size_t data = 0;
    std::uint8_t fill = 0x55;
};

void put16(packet& p, std::size_t at, std::uint32_t v) {
    p[at] = static_cast<std::uint8_t>(v >> 8);
    p[at + 1] = static_cast<std::uint8_t>(v);
}
void put32(packet& p, std::size_t at, std::uint32_t v) {
    put16(p, at, v >> 16);
    put16(p, at + 2, v);
}
std::uint32_t get32(const packet& p, std::size_t at) {
    return std::uint32_t{p[at]} << 24 | std::uint32_t{p[at + 1]} << 16 |
           std::uint32_t{p[at + 2]} << 8 | p[at + 3];
}

// An own way to the checksum: word by word in 64 bits.
std::uint16_t tcp_checksum(packet p) {
    put16(p, ip + 16, 0);
    const std::size_t size = p.size() - ip;
    std::uint64_t sum = 6 + size;
    for (std::size_t i = 12; i < 20; i += 2)
        sum += static_cast<std::uint64_t>(p[i] << 8 | p[i + 1]);
    if (p.size() % 2 != 0) p.push_back(0);
    for (std::size_t i = ip; i < p.size(); i += 2)
        sum += static_cast<std::uint64_t>(p[i] << 8 | p[i + 1]);
    return static_cast<std::uint16_t>(~(sum % 0xffff == 0 && sum != 0 ? 0xffff : sum % 0xffff));
}
bool checksum_right(const packet& p) {
    return tcp_checksum(p) == static_cast<std::uint16_t>(p[ip + 16] << 8 | p[ip + 17]);
}

packet make(const segment& s) {
    const std::size_t header = 20 + s.options.size();
    packet p(ip + header + s.data, s.fill);
    std::fill_n(p.begin(), ip + header, std::uint8_t{0});
    p[0] = 0x45;
    put16(p, 2, static_cast<std::uint32_t>(p.size()));
    p[8] = 64;
    p[9] = 6;
    put32(p, 12, s.from);
    put32(p, 16, s.to);
    put16(p, 10, static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20))));
    put16(p, ip, s.from_port);
    put16(p, ip + 2, s.to_port);
    put32(p, ip + 4, s.seq);
    put32(p, ip + 8, s.acked);
    p[ip + 12] = static_cast<std::uint8_t>(header / 4 << 4);
    p[ip + 13] = s.flags;
    put16(p, ip + 14, s.window);
    std::ranges::copy(s.options, p.begin() + ip + 20);
    put16(p, ip + 16, tcp_checksum(p));
    return p;
}

packet timestamps(std::uint32_t value, std::uint32_t echo) {
    packet o{1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0};
    put32(o, 4, value);
    put32(o, 8, echo);
    return o;
}

// sequence number of the server's first byte: it wraps on the way
constexpr std::uint32_t first_byte = 0xfffff000;
constexpr std::uint32_t request = 7000;

// A connection that the terminal has made to the server, which has sent three segments of `size`
// bytes, all acknowledged.
class Connection : public testing::Test {
protected:
    Connection() { start(); }
    void start(const recovery_config& config = {}, std::uint16_t port = 40000) {
        relay = tcpl_recovery(config);
        handshake(port);
        for (int i = 0; i < 3; ++i) {
            deliver_intact(data(i, port));
            acknowledge(i + 1, port);
        }
    }
    void handshake(std::uint16_t port) {
        const packet scale{3, 3, 7, 0};
        relay.on_outgoing(make({.from = terminal,
                                .to = server,
                                .from_port = port,
                                .to_port = 5001,
                                .seq = request - 1,
                                .flags = syn,
                                .options = scale}));
        deliver_intact(make({.to_port = port,
                             .seq = first_byte - 1,
                             .acked = request,
                             .flags = syn | ack,
                             .options = scale}));
        acknowledge(0, port);
    }
    void deliver_intact(packet p) {
        const packet before = p;
        ASSERT_EQ(relay.on_incoming(p), verdict::intact);
        ASSERT_EQ(p, before);
    }
    void acknowledge(int segments, std::uint16_t port = 40000) {
        relay.on_outgoing(make({.from = terminal,
                                .to = server,
                                .from_port = port,
                                .to_port = 5001,
                                .seq = request,
                                .acked = position(segments),
                                .window = 512,  // x 128 = 64 kbyte
                                .options = timestamps(5, 5)}));
    }
    static std::uint32_t position(int segment) {
        return first_byte + static_cast<std::uint32_t>(segment) * size;
    }
    static segment description(int n, std::uint16_t port = 40000) {
        return {.to_port = port,
                .seq = position(n),
                .acked = request,
                .options = timestamps(1000 + static_cast<std::uint32_t>(n), 77),
                .data = size,
                .fill = static_cast<std::uint8_t>(0x30 + n)};
    }
    static packet data(int n, std::uint16_t port = 40000) { return make(description(n, port)); }

    // The segment n that the host gets when `damage` has been done to it.
    template <class Damage>
    verdict damaged(int n, packet& p, Damage&& damage) {
        p = data(n);
        damage(p);
        EXPECT_FALSE(checksum_right(p));
        return relay.on_incoming(p);
    }

    static constexpr std::uint32_t size = 1448;
    static constexpr std::size_t header = 32;
    tcpl_recovery relay;
};

TEST_F(Connection, DamagedDataIsTakenAsItIsWithARightChecksum) {
    packet p;
    EXPECT_EQ(damaged(3, p, [](packet& x) { x[ip + header + 100] ^= 0x10; }), verdict::recovered);
    EXPECT_TRUE(checksum_right(p));
    packet expected = data(3);
    expected[ip + header + 100] ^= 0x10;
    // The timestamp is that of the last intact segment.
    std::ranges::copy(timestamps(1002, 77), expected.begin() + ip + 20);
    put16(expected, ip + 16, tcp_checksum(expected));
    EXPECT_EQ(p, expected);
    EXPECT_EQ(relay.restored_headers(), 0U);
}

// Each bit of the header is flipped: either it is restored, or the segment is not recovered.
TEST_F(Connection, ASingleWrongBitAnywhereInTheHeaderIsRestoredOrTheSegmentIsDropped) {
    for (std::size_t bit = 0; bit < header * 8; ++bit) {
        start();
        packet p;
        const verdict v = damaged(3, p, [&](packet& x) {
            x[ip + bit / 8] = static_cast<std::uint8_t>(x[ip + bit / 8] ^ 0x80 >> bit % 8);
        });
        const std::size_t byte = bit / 8;
        if (byte < 4) {
            EXPECT_EQ(v, verdict::no_flow) << bit;
        } else if (byte < 8) {
            EXPECT_EQ(v, verdict::sequence) << bit;
        } else {
            ASSERT_EQ(v, verdict::recovered) << bit;
            segment sent = description(3);
            sent.options = timestamps(1002, 77);
            // a flipped PSH flag does no harm
            if (byte == 13 && (0x80 >> bit % 8) == psh) sent.flags = ack | psh;
            EXPECT_EQ(p, make(sent)) << bit;
        }
        if (v != verdict::recovered) {
            packet as_it_came = data(3);
            as_it_came[ip + byte] =
                static_cast<std::uint8_t>(as_it_came[ip + byte] ^ 0x80 >> bit % 8);
            EXPECT_EQ(p, as_it_came) << "left alone for the host to drop";
        }
    }
}

TEST_F(Connection, AllFieldsThatFollowFromTheConnectionMayBeWrongTogether) {
    packet p;
    const verdict v = damaged(3, p, [](packet& x) {
        put32(x, ip + 8, 0xdeadbeef);               // acknowledgement
        x[ip + 13] = urg | rst | syn | fin | 0xc0;  // flags
        put16(x, ip + 14, 0);                       // window
        put16(x, ip + 18, 999);                     // urgent pointer
        put32(x, ip + 24, 0xffffffff);              // timestamp
    });
    EXPECT_EQ(v, verdict::recovered);
    segment sent = description(3);
    sent.options = timestamps(1002, 77);
    EXPECT_EQ(p, make(sent));
    EXPECT_EQ(relay.restored_headers(), 1U);
}

TEST_F(Connection, SegmentsInARowAreTakenBeforeTheirAcknowledgements) {
    for (int n = 3; n < 12; ++n) {
        packet p;
        EXPECT_EQ(damaged(n, p, [](packet& x) { x.back() ^= 1; }), verdict::recovered) << n;
    }
}

TEST_F(Connection, ASegmentOutOfOrderIsTakenWhereAWholeNumberOfSegmentsFits) {
    packet p;
    EXPECT_EQ(damaged(7, p, [](packet& x) { x.back() ^= 1; }), verdict::recovered);
    segment odd = description(9);
    odd.seq += 4;
    p = make(odd);
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::sequence);
}

TEST_F(Connection, WhatFollowsAShortSegmentIsTaken) {
    segment small = description(3);
    small.data = 100;
    deliver_intact(make(small));
    segment next = description(4);
    next.seq = position(3) + 100;
    packet p = make(next);
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::recovered);
}

TEST_F(Connection, DataOutsideTheWindowIsNotTaken) {
    packet p;
    const auto hit = [](packet& x) { x.back() ^= 1; };
    EXPECT_EQ(damaged(2, p, hit), verdict::sequence);        // the data has been acknowledged
    EXPECT_EQ(damaged(3 + 45, p, hit), verdict::recovered);  // 45 x 1448 < 512 x 128
    EXPECT_EQ(damaged(3 + 46, p, hit), verdict::sequence);
    EXPECT_EQ(damaged(3 - 1448, p, hit), verdict::sequence);
}

TEST_F(Connection, WithoutDataThereIsNothingToSave) {
    segment s = description(3);
    s.data = 0;
    for (const std::uint8_t flags : {ack, std::uint8_t{ack | fin}}) {
        s.flags = flags;
        packet p = make(s);
        p[ip + 9] ^= 1;
        EXPECT_EQ(relay.on_incoming(p), verdict::no_data);
    }
}

TEST_F(Connection, ASegmentOfAnotherHeaderLengthIsNotTakenForOneWithAWrongLengthField) {
    segment s = description(3);
    s.options = {1, 1, 8, 10, 0, 0, 3, 0xeb, 0, 0, 0, 77, 1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2};
    packet with_sack = make(s);
    with_sack.back() ^= 1;
    // The layout of the template fits, so the packet looks as if it had an error in one field.
    EXPECT_EQ(relay.on_incoming(with_sack), verdict::recovered);
    s.options = {1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2};
    s.options.resize(24, 1);
    packet other = make(s);
    other.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(other), verdict::header);
}

TEST_F(Connection, AConnectionWithOtherOptionsIsLeftAlone) {
    segment s = description(3);
    s.options = {1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2};
    deliver_intact(make(s));
    packet p = make(s);
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::header);
    deliver_intact(data(4));  // the next segment without errors
    EXPECT_EQ(damaged(5, p, [](packet& x) { x.back() ^= 1; }), verdict::recovered);
}

TEST_F(Connection, UnknownConnectionsPortsAndResetOnesAreLeftAlone) {
    packet p = data(3, 40001);
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::no_flow);
    p = make({.from = server + 1, .seq = position(3), .data = 100});
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::no_flow);
    deliver_intact(make({.seq = position(3), .flags = rst}));
    EXPECT_EQ(relay.flows(), 0U);
    EXPECT_EQ(damaged(3, p, [](packet& x) { x.back() ^= 1; }), verdict::no_flow);
    start();
    relay.on_outgoing(make({.from = terminal,
                            .to = server,
                            .from_port = 40000,
                            .to_port = 5001,
                            .seq = request,
                            .flags = rst}));
    EXPECT_EQ(damaged(3, p, [](packet& x) { x.back() ^= 1; }), verdict::no_flow);
}

TEST_F(Connection, ANewConnectionOnTheSamePortsStartsFromNothing) {
    handshake(40000);
    packet p;
    EXPECT_EQ(damaged(0, p, [](packet& x) { x.back() ^= 1; }),
              verdict::no_flow);  // no template yet
    deliver_intact(data(0));
    EXPECT_EQ(damaged(1, p, [](packet& x) { x.back() ^= 1; }), verdict::recovered);
}

TEST_F(Connection, OnlyTheChosenPortsTakePart) {
    start({.local_ports = {40001}});
    packet p;
    EXPECT_EQ(damaged(3, p, [](packet& x) { x.back() ^= 1; }), verdict::no_flow);
    EXPECT_EQ(relay.flows(), 0U);
    start({.local_ports = {40000}});
    EXPECT_EQ(damaged(3, p, [](packet& x) { x.back() ^= 1; }), verdict::recovered);
}

TEST_F(Connection, WrongPortsAreRestoredWhereAskedForAndOnlyOneConnectionIsMeant) {
    for (std::size_t bit = 0; bit < 32; ++bit) {
        start({.most_port_errors = 1});
        packet p;
        ASSERT_EQ(damaged(3, p,
                          [&](packet& x) {
                              x[ip + bit / 8] =
                                  static_cast<std::uint8_t>(x[ip + bit / 8] ^ 0x80 >> bit % 8);
                          }),
                  verdict::recovered);
        segment sent = description(3);
        sent.options = timestamps(1002, 77);
        EXPECT_EQ(p, make(sent));
    }
    // With a second connection at port 40003, a packet with port 40001 may be of either.
    start({.most_port_errors = 1});
    handshake(40003);
    deliver_intact(data(0, 40003));
    acknowledge(3, 40003);
    packet p = data(3, 40000);
    put16(p, ip + 2, 40001);  // one bit from 40000 and from 40003
    EXPECT_EQ(relay.on_incoming(p), verdict::no_flow);
}

TEST_F(Connection, OtherPacketsPassUntouched) {
    for (const std::size_t where : {std::size_t{0}, std::size_t{9}, std::size_t{6}}) {
        packet p = data(3);
        p[where] = where == 0 ? 0x65 : where == 9 ? 17 : 0x20;  // IPv6, UDP, a fragment
        put16(p, 10, 0);
        put16(p, 10, static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20))));
        const packet before = p;
        EXPECT_EQ(relay.on_incoming(p), verdict::other);
        EXPECT_EQ(p, before);
    }
    packet p = data(3);
    p[15] ^= 1;  // an error in the IP header itself
    EXPECT_EQ(relay.on_incoming(p), verdict::other);
}

TEST_F(Connection, TheLongestUnusedFlowMakesRoom) {
    start({.most_flows = 2});
    for (std::uint16_t port : {40001, 40002}) {
        handshake(port);
        deliver_intact(data(0, port));
    }
    EXPECT_EQ(relay.flows(), 2U);
    packet p;
    EXPECT_EQ(damaged(3, p, [](packet& x) { x.back() ^= 1; }), verdict::no_flow);
    p = data(1, 40002);
    p.back() ^= 1;
    EXPECT_EQ(relay.on_incoming(p), verdict::recovered);
}

TEST(TcplRecovery, SettingsThatMakeNoSenseAreNamed) {
    EXPECT_THROW(tcpl_recovery({.most_port_errors = 5}), std::invalid_argument);
    EXPECT_THROW(tcpl_recovery({.most_flows = 0}), std::invalid_argument);
}

// Anything may come from outside: damaged packets, cut ones, and random bytes. A packet that is
// reported as recovered has a right checksum, its own length, the addresses that it came with, and
// data of the connection inside the window; all others are untouched.
TEST_F(Connection, WhateverComesNothingBreaksAndNothingDoubtfulIsTaken) {
    std::mt19937 random(2026);
    int recovered = 0;
    for (int round = 0; round < 200000; ++round) {
        if (round % 1000 == 0) start({.most_port_errors = static_cast<int>(random() % 5)});
        packet p = data(3 + static_cast<int>(random() % 60));
        const auto damage = random() % 4;
        if (damage == 0) {
            p.resize(random() % p.size());
        } else if (damage == 1) {
            for (auto& byte : p) byte = static_cast<std::uint8_t>(random());
        } else {
            const auto wrong = 1 + random() % 40;
            const std::size_t from = random() % 2 == 0 ? ip : 0;
            for (unsigned i = 0; i < wrong; ++i)
                p[from + random() % 60] ^= static_cast<std::uint8_t>(1U << random() % 8);
        }
        if (p.size() >= 20 && random() % 2 == 0) {  // makes an IP header that passes the checks
            p[0] = 0x45;
            put16(p, 2, static_cast<std::uint32_t>(p.size()));
            put16(p, 10, 0);
            put16(p, 10, static_cast<std::uint16_t>(~internet_sum(std::span(p).first(20))));
        }
        const packet before = p;
        if (random() % 3 == 0) {
            relay.on_outgoing(p);
            EXPECT_EQ(p, before);
            continue;
        }
        const verdict v = relay.on_incoming(p);
        if (v != verdict::recovered) {
            ASSERT_EQ(p, before);
            continue;
        }
        ++recovered;
        ASSERT_EQ(p.size(), before.size());
        ASSERT_TRUE(checksum_right(p));
        ASSERT_TRUE(std::equal(p.begin(), p.begin() + ip, before.begin()));
        ASSERT_EQ(get32(p, ip + 4), get32(before, ip + 4));
        ASSERT_EQ(p[ip + 13] & ~psh, ack);
    }
    EXPECT_GT(recovered, 100);
}

}  // namespace
}  // namespace wip::tcpl
