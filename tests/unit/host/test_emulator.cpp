// SPDX-License-Identifier: GPL-3.0-or-later
// The emulator around its cell: what it refuses, and that the statuses it reports add up.
#include <gtest/gtest.h>

#include <map>

#include "emulator/cell_status.h"
#include "emulator/delayed_path.h"
#include "emulator/emulator_config.h"
#include "wire/ip_header.h"

using namespace wip;
using namespace wip::emulator;

namespace {

// What a direction of a status says of it; packets, then bytes.
void expect_sums(const openwip::control::Direction& d, const char* what) {
    auto packets = d.delivered().packets() + d.queued().packets();
    auto bytes = d.delivered().bytes() + d.queued().bytes();
    for (const auto& drop : d.dropped()) {
        packets += drop.count().packets();
        bytes += drop.count().bytes();
    }
    EXPECT_EQ(packets, d.in().packets()) << what;
    EXPECT_EQ(bytes, d.in().bytes()) << what;
}

std::vector<std::uint8_t> ip_packet(std::size_t bytes, std::uint8_t protocol = 0) {
    std::vector<std::uint8_t> p(bytes);
    p[0] = 0x45;
    p[9] = protocol;
    p[2] = static_cast<std::uint8_t>(bytes >> 8);
    p[3] = static_cast<std::uint8_t>(bytes);
    const std::uint32_t sum = ~internet_sum(std::span(p).first(20));
    p[10] = static_cast<std::uint8_t>(sum >> 8);
    p[11] = static_cast<std::uint8_t>(sum);
    return p;
}

}  // namespace

TEST(CellStatus, InIsDeliveredQueuedAndDroppedInEverySlotAndOfEveryUser) {
    config::settings s(emulator_keys());
    for (const auto* a :
         {"terminals=2", "terminal.namespace=x", "channel.snr_db=8", "link.queue_packets=20",
          "link.max_retransmissions=1", "to_base.loss=0.1", "uplink.loss=0.1"})
        s.merge_assignment(a);
    const emulator_config config = translate(s);
    emulated_cell cell(config.cell, make_sources(config));
    std::uint64_t arrived = 0;
    cell.deliver_to(
        [&](emulated_cell::side, int, std::span<const std::uint8_t>, std::int64_t) { ++arrived; });
    openwip::control::MacStatus base, terminal;
    for (slot k; k.value < 900; ++k) {
        cell.run_slot(k);
        for (int u = 0; u < 2 && k.value < 600; ++u) {
            cell.downlink().offer(ip_packet(40 + static_cast<std::size_t>(k.value)), slot_start(k),
                                  u);
            cell.uplink().offer(ip_packet(100), slot_start(k), u);
        }
        cell.release(slot_start(k + slot_count(1)));
        base.Clear();
        terminal.Clear();
        fill_base(cell, base);
        fill_terminal(cell, terminal);
        expect_sums(base.downlink(), "downlink at the base station");
        expect_sums(terminal.downlink(), "downlink at the terminal");
        expect_sums(terminal.uplink(), "uplink");
        ASSERT_FALSE(testing::Test::HasFailure()) << "slot " << k.value;
    }
    EXPECT_GT(arrived, 100U);
    EXPECT_EQ(base.users_size(), 2);
    EXPECT_EQ(terminal.users_size(), 2);
    std::map<std::string, std::uint64_t> drops;
    for (const auto& d : base.downlink().dropped()) drops[d.reason()] = d.count().packets();
    for (const char* reason : {"wired_loss", "queue_full", "retransmissions_exceeded"})
        EXPECT_GT(drops[reason], 0U) << reason;
}

TEST(EmulatorConfig, BadConfigurationIsRefusedWithItsKey) {
    const auto refusal = [](const char* assignment) -> std::string {
        config::settings s(emulator_keys());
        try {
            s.merge_assignment(assignment);
            make_sources(translate(s));
        } catch (const config::error& e) {
            return e.what();
        }
        return "";
    };
    for (const auto& [assignment, key] : std::map<const char*, const char*>{
             {"channel.bins_db=8,x", "channel.bins_db"},
             {"channel.prediction_nmse=0.7", "channel.prediction_nmse"},
             {"channel.prediction_nmse=trace", ""},
             {"channel.speed_kmh=fast", "channel.speed_kmh"},
             {"channel.model=nonsense", "channel.model = nonsense"},
             {"channel.model=no.h5", "no.h5"},
             {"to_base.loss=2", "to_base.loss"},
             {"terminals=3", "terminals"},
             {"terminal.tun=wip0", "terminal.tun"}}) {
        const auto text = refusal(assignment);
        EXPECT_NE(text.find(key), std::string::npos) << assignment << ": " << text;
        EXPECT_EQ(text.find('\n'), std::string::npos);
    }
    EXPECT_NE(refusal("channel.model=jakes"), refusal("channel.model=nonsense"));
}

namespace {

// A pure ACK of a TCP flow that echoes a timestamp (ms).
std::vector<std::uint8_t> ack_packet(std::uint32_t echo) {
    auto p = ip_packet(52, 6);
    p[32] = 0x80, p[33] = 0x10;
    p[40] = p[41] = 1, p[42] = 8, p[43] = 10;
    for (std::size_t i = 0; i < 4; ++i) p[48 + i] = static_cast<std::uint8_t>(echo >> (24 - 8 * i));
    return p;
}

}  // namespace

TEST(DelayedPair, WhatIsHeldLeavesAtTheEndAndTheLastSampleIsTold) {
    constexpr std::int64_t ms = 1'000'000;
    config::settings s(emulator_keys());
    for (const auto* a :
         {"link.kind=wire", "terminal.namespace=x", "delay_injection.mode=adaptive",
          "delay_injection.flows=both", "to_base.delay_ms=0", "from_base.delay_ms=0"})
        s.merge_assignment(a);
    pair_path path(translate(s));
    std::vector<std::int64_t> up, down;
    path.uplink().deliver_to([&](const link_packet& p) { return up.push_back(p.due_ns), 0; });
    path.downlink().deliver_to([&](const link_packet& p) { return down.push_back(p.due_ns), 0; });
    const auto give = [&](packet_link& way, std::int64_t at, std::int64_t delay) {
        path.links.advance(at * ms);
        way.offer(ack_packet(static_cast<std::uint32_t>(at - delay)), at * ms, 0);
        path.links.advance(at * ms);
    };
    openwip::control::MacStatus status;
    const auto told = [&] {
        status.Clear();
        fill_delay_injection(path.links, status);
        return status.delay_injection();
    };
    // Each way ten samples of 40 ms, a spike, and one that is held.
    for (int i = 0; i < 10; ++i) {
        give(path.downlink(), 100 + 100 * i, 40);
        give(path.uplink(), 110 + 100 * i, 40);
    }
    give(path.uplink(), 1100, 160);
    EXPECT_DOUBLE_EQ(told().pdelay_ms(), 120) << "against its first";
    EXPECT_DOUBLE_EQ(told().delay_ms(), 80);
    give(path.downlink(), 1110, 190);
    EXPECT_DOUBLE_EQ(told().pdelay_ms(), 150);
    EXPECT_DOUBLE_EQ(told().delay_ms(), 100);
    give(path.uplink(), 1150, 40);
    EXPECT_NEAR(told().pdelay_ms(), 0, 1e-9);
    give(path.downlink(), 1160, 41);
    EXPECT_NEAR(told().pdelay_ms(), 1, 1e-9);
    EXPECT_EQ(told().held_now(), 2U);
    EXPECT_EQ(up.size(), 11U);
    EXPECT_EQ(down.size(), 11U);
    path.links.flush(1161 * ms);
    EXPECT_EQ(told().held_now(), 0U);
    ASSERT_EQ(up.size(), 12U);
    EXPECT_EQ(up.back(), 1161 * ms);
    ASSERT_EQ(down.size(), 12U);
    EXPECT_EQ(down.back(), 1161 * ms);
}

// The SNR that a fading channel has to have is that of the rate, in a running cell as well.
TEST(WlanPath, ItsSettingsReachTheCellAndItsErrors) {
    const auto made = [](std::initializer_list<const char*> assignments) {
        config::settings s(emulator_keys());
        s.merge_assignment("link.kind=wlan");
        s.merge_assignment("terminal.namespace=x");
        for (const auto* a : assignments) s.merge_assignment(a);
        return translate(s).wlan;
    };
    for (const auto& [rate, needed] : {std::pair("wlan.rate_mbps=1", -3.8),
                                       {"wlan.rate_mbps=2", 0.7},
                                       {"wlan.rate_mbps=5.5", 3.3},
                                       {"wlan.rate_mbps=11", 6.3}})
        EXPECT_EQ(made({rate, "wlan.errors=fading"}).errors.needed_db, needed) << rate;
    EXPECT_TRUE(made({}).cell.put_back && !made({}).cell.late_growth);
    EXPECT_FALSE(made({"wlan.put_back=off"}).cell.put_back);
    EXPECT_TRUE(made({"wlan.window_growth=late"}).cell.late_growth);
}
