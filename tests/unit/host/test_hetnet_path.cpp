// SPDX-License-Identifier: GPL-3.0-or-later
// A terminal that moves between networks as a link of the emulator: settings that it refuses, what
// it reports, and how it is moved while it runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "emulator/delayed_path.h"
#include "emulator/emulator_config.h"

using namespace wip;
using namespace wip::emulator;

namespace {

constexpr std::int64_t ms = 1'000'000;

config::settings settings_of(std::initializer_list<const char*> assignments) {
    config::settings s(emulator_keys());
    s.merge_assignment("link.kind=hetnet");
    for (const auto* a : assignments) s.merge_assignment(a);
    return s;
}

emulator_config made(std::initializer_list<const char*> assignments) {
    auto s = settings_of(assignments);
    return translate(s);
}

std::string refusal(std::initializer_list<const char*> assignments) {
    try {
        made(assignments);
    } catch (const config::error& e) {
        return e.what();
    }
    return "";
}

openwip::control::MacStatus base_of(const pair_path& path) {
    openwip::control::MacStatus status;
    path.fill_base(status);
    return status;
}

}  // namespace

TEST(HetnetPath, ItsSettingsReachTheLink) {
    const auto c = made({"hetnet.networks=WLAN,lab:2000/500/20+500/100/40", "hetnet.network=lab.2",
                         "hetnet.buffering=full", "hetnet.delay_s=2.5",
                         "hetnet.plan=30s@WLAN,524288B@lab", "hetnet.network_timer_s=4",
                         "hetnet.network_chain=0.5,0.5,1,0", "hetnet.state_timer_ms=100",
                         "hetnet.state_chain=1,0.5,0.5,0.2,0.8", "hetnet.held_mb=1", "seed=7"})
                       .handover;
    ASSERT_EQ(c.networks.size(), 2U);
    EXPECT_EQ(c.networks[1].states[1], (hetnet::network_state{500, 100, 40}));
    EXPECT_EQ(c.first, (hetnet::place{1, 1}));
    EXPECT_EQ(c.keep, hetnet::buffering::full);
    EXPECT_EQ(c.delay_s, 2.5);
    ASSERT_EQ(c.plan.size(), 2U);
    EXPECT_EQ(c.plan[0].at, 30'000 * ms);
    EXPECT_EQ(c.plan[1].at, 524288);
    EXPECT_EQ(c.network_timer_s, 4);
    EXPECT_EQ(c.network_chain[1][0], 1);
    EXPECT_EQ(c.state_timer_ms, 100);
    EXPECT_EQ(c.state_chains[1][1][1], 0.8);
    EXPECT_EQ(c.held_mb, 1);
    EXPECT_EQ(c.seed, 7U);
    const auto usual = made({}).handover;
    EXPECT_EQ(usual.networks.size(), 3U);
    EXPECT_EQ(usual.first, hetnet::place{});
    EXPECT_EQ(usual.keep, hetnet::buffering::intermediate);
}

TEST(HetnetPath, WhatCannotBeIsRefusedWithItsKeyItsValueAndWhatIsValid) {
    for (const auto& [assignment, valid] :
         std::initializer_list<std::pair<const char*, const char*>>{
             {"hetnet.networks=LTE", "WLAN, UMTS, GPRS"},
             {"hetnet.networks=", "NAME"},
             {"hetnet.networks=a:1/2", "DOWN/UP/DELAY"},
             {"hetnet.network=LTE", "WLAN, UMTS, GPRS"},
             {"hetnet.network=UMTS.2", "UMTS.1 to UMTS.1"},
             {"hetnet.buffering=half", "none"},
             {"hetnet.delay_s=601", "600"},
             {"hetnet.plan=30@UMTS", "30s"},
             {"hetnet.plan=30s@LTE", "WLAN, UMTS, GPRS"},
             {"hetnet.plan=2s@UMTS,1s@WLAN", "each later"},
             {"hetnet.network_timer_s=0.01", "0.1"}}) {
        const std::string text = refusal({assignment});
        const std::string key(assignment, std::find(assignment, assignment + 60, '='));
        EXPECT_NE(text.find(key), std::string::npos) << assignment << ": " << text;
        EXPECT_NE(text.find(valid), std::string::npos) << assignment << ": " << text;
    }
    EXPECT_NE(refusal({"hetnet.network_timer_s=1", "hetnet.network_chain=1,0"})
                  .find("9, a transition matrix of 3 rows of 3"),
              std::string::npos);
    EXPECT_NE(refusal({"hetnet.network_timer_s=1", "hetnet.networks=WLAN,UMTS",
                       "hetnet.network_chain=1,0,0.5,0.4"})
                  .find("whose sum is 1"),
              std::string::npos);
    EXPECT_NE(refusal({"hetnet.network_chain=1"}).find("hetnet.network_timer_s"),
              std::string::npos);
    EXPECT_NE(refusal({"hetnet.state_chain=1"}).find("hetnet.state_timer_ms"), std::string::npos);
}

TEST(HetnetPath, ItIsMovedWhileItRunsAndReportsWhereItIs) {
    auto s = settings_of({"hetnet.delay_s=2", "hetnet.buffering=none", "hetnet.plan=20s@WLAN"});
    pair_path path(translate(s));
    const std::vector<std::uint8_t> packet(1000, 0x45);
    EXPECT_TRUE(path.carrier->moved_settings(0).empty());
    path.downlink().offer(packet, 0);
    path.links.advance(5'000 * ms);
    EXPECT_EQ(base_of(path).mobility().network(), "WLAN");
    EXPECT_EQ(base_of(path).mobility().mean_rate_bps(), 1e6);

    s.merge_assignment("hetnet.network=UMTS");
    path.carrier->apply(translate(s), 5'000 * ms);
    path.carrier->apply(translate(s), 5'100 * ms);  // the same setting again has no effect
    path.downlink().offer(packet, 5'500 * ms);
    path.links.advance(6'000 * ms);
    auto status = base_of(path);
    EXPECT_TRUE(status.mobility().handing_over());
    EXPECT_EQ(status.mobility().network() + status.mobility().destination(), "WLANUMTS");
    ASSERT_EQ(status.downlink().dropped_size(), 1);
    EXPECT_EQ(status.downlink().dropped(0).reason(), "handover_arrived");
    EXPECT_TRUE(path.carrier->moved_settings(6'000 * ms).empty());

    path.links.advance(10'000 * ms);
    status = base_of(path);
    EXPECT_FALSE(status.mobility().handing_over());
    EXPECT_EQ(status.mobility().network(), "UMTS");
    EXPECT_EQ(status.mobility().rate_bps(), 384e3);
    EXPECT_EQ(status.mobility().one_way_ms(), 75);
    EXPECT_EQ(status.mobility().handovers(), 1U);
    EXPECT_EQ(status.mobility().handing_over_s(), 2);
    EXPECT_DOUBLE_EQ(status.mobility().mean_rate_bps(), (5 * 1000e3 + 3 * 384e3) / 10);
    ASSERT_EQ(status.mobility().latest_size(), 1);
    EXPECT_EQ(status.mobility().latest(0).from() + status.mobility().latest(0).to(), "WLANUMTS");
    EXPECT_EQ(status.mobility().latest(0).began_s(), 5);
    EXPECT_EQ(status.mobility().latest(0).over_s(), 7);
    openwip::control::MacStatus terminal;
    path.fill_terminal(terminal);
    EXPECT_EQ(terminal.mobility().rate_bps(), 32e3);

    // A move by the plan is reported as a setting that has moved, once, and is not made again.
    path.links.advance(20'000 * ms);
    const auto moved = path.carrier->moved_settings(20'000 * ms);
    ASSERT_EQ(moved.size(), 1U);
    EXPECT_EQ(moved[0].key + '=' + moved[0].value, "hetnet.network=WLAN");
    EXPECT_TRUE(path.carrier->moved_settings(20'000 * ms).empty());
    s.replace(moved[0].key, moved[0].value);
    path.carrier->apply(translate(s), 20'010 * ms);
    path.links.advance(30'000 * ms);
    EXPECT_EQ(base_of(path).mobility().handovers(), 2U);
    EXPECT_EQ(base_of(path).mobility().network(), "WLAN");

    // Another duration and another buffering hold from the next handover on.
    s.merge_assignment("hetnet.delay_s=0");
    s.merge_assignment("hetnet.buffering=full");
    s.merge_assignment("hetnet.network=GPRS");
    path.downlink().offer(packet, 30'000 * ms);
    path.carrier->apply(translate(s), 30'001 * ms);
    path.links.advance(40'000 * ms);
    status = base_of(path);
    EXPECT_EQ(status.mobility().network(), "GPRS");
    EXPECT_EQ(status.downlink().delivered().packets(), 2U);
    EXPECT_EQ(status.base().payload_bits_acknowledged(), 16000U);
    std::uint64_t dropped = 0;
    for (const auto& d : status.downlink().dropped()) dropped += d.count().packets();
    EXPECT_EQ(dropped, 1U);
    EXPECT_EQ(status.downlink().in().packets(), 3U);
}

TEST(HetnetPath, RecordsTellOfThePacketsOfBothDirections) {
    pair_path path(made({}));
    std::vector<std::pair<packet_record, int>> reported;
    path.carrier->follow_packets(
        [&](const packet_record& r, int user) { reported.emplace_back(r, user); });
    path.downlink().offer(std::vector<std::uint8_t>(1500, 0x45), 0, 0);
    path.uplink().offer(std::vector<std::uint8_t>(52, 0x45), 0, 0);
    path.links.advance(1'000 * ms);
    ASSERT_EQ(reported.size(), 2U);
    std::ranges::sort(reported, {}, [](const auto& t) { return t.first.uplink; });
    EXPECT_EQ(reported[0].first.left_ns, 17 * ms);
    EXPECT_EQ(reported[1].first.left_ns, 11'500'000);
    EXPECT_TRUE(reported[1].first.uplink);
}
