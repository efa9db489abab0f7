// SPDX-License-Identifier: GPL-3.0-or-later
// Line, bit errors and relay together, in virtual time, and the configuration of wip_tcpl.
#include <gtest/gtest.h>

#include "tcpl/damaged_path.h"
#include "tcpl/tcpl_config.h"

namespace wip::tcpl {
namespace {

constexpr std::int64_t ms = 1'000'000;
using packet = std::vector<std::uint8_t>;
using side = damaged_path::side;

packet ip_packet(std::size_t size) {
    packet p(size, 0);
    p[0] = 0x45;
    return p;
}

struct arrival {
    side to;
    packet data;
    std::int64_t due;
};

std::vector<arrival> release(damaged_path& path, std::int64_t until) {
    std::vector<arrival> got;
    path.deliver_to([&](side to, std::span<const std::uint8_t> p, std::int64_t due) {
        got.push_back({to, {p.begin(), p.end()}, due});
    });
    path.release(until);
    return got;
}

path_config line(double ber) {
    path_config c;
    c.forward.rate_kbps = 384;
    c.forward.delay_ms = 70;
    c.back = c.forward;
    c.errors.ber = ber;
    return c;
}

TEST(DamagedPath, PacketsLeaveAfterTheirTimeOnTheLineAndTheDelay) {
    damaged_path path(line(0));
    EXPECT_EQ(path.next_due(), damaged_path::no_next);
    path.from_sender(ip_packet(1500), 0);
    path.from_receiver(ip_packet(48), 0);
    EXPECT_EQ(path.next_due(), 71 * ms);  // 48 bytes at 384 kbit/s: 1 ms
    EXPECT_TRUE(release(path, 71 * ms - 1).empty());
    auto got = release(path, 71 * ms);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].to, side::sender);
    EXPECT_EQ(path.next_due(), 70 * ms + 1500 * 8 * ms / 384);
    got = release(path, 200 * ms);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].to, side::receiver);
    EXPECT_EQ(got[0].data, ip_packet(1500));
}

TEST(DamagedPath, ErrorsHitTheWayToTheReceiverBehindTheIpHeader) {
    auto c = line(0.1);
    c.forward.rate_kbps = c.back.rate_kbps = 0;
    for (const bool spare : {true, false}) {
        c.spare_ip_header = spare;
        damaged_path path(c);
        int header_hits = 0, body_hits = 0;
        for (int i = 0; i < 50; ++i) {
            path.from_sender(ip_packet(100), i * ms);
            path.from_receiver(ip_packet(100), i * ms);
        }
        for (const auto& a : release(path, 1000 * ms)) {
            const packet sent = ip_packet(100);
            if (a.to == side::sender) {
                EXPECT_EQ(a.data, sent);
                continue;
            }
            for (std::size_t k = 0; k < 100; ++k)
                (k < 20 ? header_hits : body_hits) += a.data[k] != sent[k] ? 1 : 0;
        }
        EXPECT_GT(body_hits, 1000);
        EXPECT_EQ(header_hits > 0, !spare);
        EXPECT_EQ(path.errors().packets, 50U);
        EXPECT_EQ(path.errors().bits, 50U * (spare ? 80 : 100) * 8);
    }
}

TEST(DamagedPath, WithoutTheRelayThereIsNone) {
    auto c = line(0);
    EXPECT_NE(damaged_path(c).relay(), nullptr);
    c.relay = false;
    EXPECT_EQ(damaged_path(c).relay(), nullptr);
}

tcpl_config with(const std::vector<std::string>& assignments) {
    config::settings s(tcpl_keys());
    for (const auto& a : assignments) s.merge_assignment(a);
    return translate(s);
}

TEST(TcplConfig, EverySettingIsTranslated) {
    const auto c = with({"line.rate_kbps=1000", "line.delay_ms=5", "line.queue_packets=7",
                         "errors.ber=1e-4", "errors.burstiness=0.5", "errors.spare_ip_header=off",
                         "relay.on=off", "relay.port_errors=2", "relay.ports=5300, 80", "mtu=576",
                         "seed=9", "sender.namespace=a", "receiver.namespace=b",
                         "sender.address=10.1.0.1/30", "receiver.tun=x"});
    EXPECT_EQ(c.path.forward.rate_kbps, 1000);
    EXPECT_EQ(c.path.back.delay_ms, 5);
    EXPECT_EQ(c.path.forward.queue_packets, 7);
    EXPECT_EQ(c.path.errors.ber, 1e-4);
    EXPECT_EQ(c.path.errors.burstiness, 0.5);
    EXPECT_EQ(c.path.errors.seed, 9U);
    EXPECT_FALSE(c.path.spare_ip_header);
    EXPECT_FALSE(c.path.relay);
    EXPECT_EQ(c.path.recovery.most_port_errors, 2);
    EXPECT_EQ(c.path.recovery.local_ports, (std::vector<std::uint16_t>{5300, 80}));
    EXPECT_EQ(c.sender.tun.mtu, 576);
    EXPECT_EQ(c.sender.network_namespace, "a");
    EXPECT_EQ(c.receiver.tun.name, "x");
}

TEST(TcplConfig, WhatMakesNoSenseIsRefusedWithKeyAndValue) {
    const auto refused = [](const std::vector<std::string>& a, const std::string& what) {
        try {
            with(a);
            FAIL() << what;
        } catch (const config::error& e) {
            EXPECT_NE(std::string(e.what()).find(what), std::string::npos) << e.what();
        }
    };
    const std::vector<std::string> ends{"sender.namespace=a", "receiver.namespace=b"};
    refused({"errors.ber=0.6"}, "errors.ber");
    refused({"relay.ports=80,x"}, "relay.ports");
    refused({"relay.ports=70000"}, "1..65535");
    refused({"sender.namespace=../x"}, "sender.namespace");
    refused({}, "receiver.tun");  // both the same interface of one namespace
    refused({ends[0], ends[1], "line.rate_kbps=0.5"}, "rate_kbps");
}

}  // namespace
}  // namespace wip::tcpl
