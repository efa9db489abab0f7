// SPDX-License-Identifier: GPL-3.0-or-later
// macd's own keys: translation, what depends on the role, and checks across keys.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "config/setting_rules.h"
#include "macd/macd_config.h"

using namespace wip;
using namespace wip::host;

namespace {

macd_config with(const std::vector<std::string>& assignments, const std::string& role = "base") {
    config::settings s(macd_keys());
    s.merge_assignment("role=" + role);
    for (const auto& a : assignments) s.merge_assignment(a);
    return translate(s);
}
std::string error_with(const std::string& assignment,
                       const std::string& other_assignment = "peer_timeout_s=2") {
    try {
        with({other_assignment, assignment});
    } catch (const config::error& e) {
        return e.what();
    }
    return "no error";
}

}  // namespace

TEST(MacdConfig, DefaultsAreThoseOfTheLink) {
    const macd_config c = with({});
    const link_config d;
    EXPECT_EQ(c.link.bins, d.bins);
    EXPECT_EQ(c.link.modulation, d.modulation);
    EXPECT_EQ(c.link.max_retransmissions, d.max_retransmissions);
    EXPECT_EQ(c.link.retransmission_delay_slots, d.retransmission_delay_slots);
    EXPECT_EQ(c.link.queue_packets, d.queue_packets);
    EXPECT_EQ(c.link.allocation, d.allocation);
    EXPECT_EQ(c.link.switch_table, d.switch_table);
    EXPECT_EQ(c.link.combining, d.combining);
    EXPECT_EQ(c.link.packing, d.packing);
    EXPECT_EQ(c.link.in_order, d.in_order);
    EXPECT_EQ(c.link.deliver_corrupt, d.deliver_corrupt);
    EXPECT_EQ(c.uplink.kbps, uplink_config{}.kbps);
    EXPECT_EQ(c.uplink.queue_packets, uplink_config{}.queue_packets);
}
TEST(MacdConfig, EverySettingOfTheLinkIsTranslated) {
    const macd_config c =
        with({"link.bins=25", "link.allocation=static", "link.modulation=7",
              "link.switch_table=nmse_0", "link.max_retransmissions=0", "link.combining=off",
              "link.packing=off", "link.order=as_completed", "link.deliver_corrupt=on",
              "link.queue_packets=9", "uplink.kbps=5000", "uplink.delay_slots=6", "uplink.loss=0.5",
              "uplink.feedback_loss=0.25", "uplink.queue_packets=8", "seed=77"});
    EXPECT_EQ(c.link.bins, 25);
    EXPECT_EQ(c.link.allocation, allocation_kind::fixed);
    EXPECT_EQ(c.link.modulation, 7);
    EXPECT_EQ(c.link.switch_table, switch_table_kind::nmse_0);
    EXPECT_EQ(with({"link.switch_table=nmse_0_1"}).link.switch_table, switch_table_kind::nmse_0_1);
    EXPECT_EQ(with({"link.switch_table=measured"}).link.switch_table, switch_table_kind::measured);
    EXPECT_EQ(c.link.max_retransmissions, 0);
    EXPECT_FALSE(c.link.combining);
    EXPECT_FALSE(c.link.packing);
    EXPECT_FALSE(c.link.in_order);
    EXPECT_TRUE(c.link.deliver_corrupt);
    EXPECT_EQ(c.link.queue_packets, 9);
    EXPECT_EQ(c.uplink.kbps, 5000);
    EXPECT_EQ(c.uplink.delay_slots, 6);
    EXPECT_EQ(c.uplink.loss, 0.5);
    EXPECT_EQ(c.uplink.feedback_loss, 0.25);
    EXPECT_EQ(c.uplink.queue_packets, 8);
    EXPECT_EQ(c.uplink.seed, 77U);
}
TEST(MacdConfig, TheLoopDelayIsRoundedUpToSlots) {
    const std::pair<const char*, int> cases[] = {{"2", 3},  {"2.1", 4}, {"4", 6},
                                                 {"8", 12}, {"16", 24}, {"32", 48}};
    for (const auto& [ms, slots] : cases)
        EXPECT_EQ(with({std::string("link.retransmission_delay_ms=") + ms})
                      .link.retransmission_delay_slots,
                  slots)
            << ms;
}
TEST(MacdConfig, TheTableHasTheSlotsOfTheFeedback) {
    const auto sums = config::sums_of(config::process::macd);
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_EQ(sums[0].plus, feedback_slots);
}
TEST(MacdConfig, TheLoopIsLongerByTheWayThroughAFader) {
    EXPECT_EQ(
        error_with("link.fader_slots=3"),
        "default: link.retransmission_delay_ms is 2: its 3 slots are fewer than "
        "link.transmit_lead_slots = 0 + link.fader_slots = 3 + 3 for the feedback; valid: 4 ms "
        "or more, or lower values of the others");
    EXPECT_EQ(with({"link.fader_slots=3", "link.retransmission_delay_ms=4"})
                  .link.retransmission_delay_slots,
              6);
}
TEST(MacdConfig, TheIdealProfileIsRefusedOnTheRadio) {
    EXPECT_EQ(error_with("link.profile=wipemu"),
              "--set: link.profile is wipemu: its error detection is ideal "
              "and leaves no room for the CRC of a radio; valid: radio");
}
TEST(MacdConfig, TheRelayNeedsDamagedPackets) {
    EXPECT_FALSE(with({}).tcp_l);
    EXPECT_TRUE(with({"link.tcp_l=on", "link.deliver_corrupt=on"}, "terminal").tcp_l);
    EXPECT_EQ(
        error_with("link.tcp_l=on"),
        "--set: link.tcp_l is on: with link.deliver_corrupt = off, so no damaged segment arrives; "
        "valid: off, or link.deliver_corrupt = on");
}
TEST(MacdConfig, OnlyATerminalPlaysARecording) {
    EXPECT_FALSE(with({}, "terminal").replay);
    EXPECT_TRUE(with({"replay=on"}, "terminal").replay);
    EXPECT_EQ(
        error_with("replay=on"),
        "--set: replay is on: with role = base, which receives nothing; valid: off, or role = "
        "terminal");
}
TEST(MacdConfig, EndpointsFollowTheRoleAndTheRunFolder) {
    ::setenv("OPENWIP_RUN", "/tmp/run7", 1);
    EXPECT_EQ(with({}).slot_link_endpoint, "shm:///tmp/run7/base.slot");
    const macd_config t = with({}, "terminal");
    EXPECT_EQ(t.slot_link_endpoint, "shm:///tmp/run7/terminal.slot");
    EXPECT_EQ(t.uplink_endpoint, "shm:///tmp/run7/uplink");
    EXPECT_EQ(t.control_endpoint, "ipc:///tmp/run7/terminal.control");
    EXPECT_EQ(t.telemetry_endpoint, "ipc:///tmp/run7/terminal.telemetry");
    EXPECT_EQ(t.tun.address, "10.42.0.2/30");
    ::unsetenv("OPENWIP_RUN");
    EXPECT_EQ(with({}).slot_link_endpoint, "shm:///run/openwip/base.slot");
}
TEST(MacdConfig, AnUplinkOverTheNetworkNeedsKeys) {
    const std::string far = "endpoints.uplink=tcp://192.0.2.1:7680";
    EXPECT_EQ(
        error_with(far),
        "default: endpoints.uplink_keys is (nothing): an uplink over TCP needs keys; valid: a "
        "folder of ./openwip keys");
    EXPECT_EQ(with({far, "endpoints.uplink_keys=/etc/keys"}).uplink_keys, "/etc/keys");
    EXPECT_NE(error_with("endpoints.uplink=tcp://127.0.0.1:7680").find("needs keys"),
              std::string::npos);
    EXPECT_NE(error_with("endpoints.uplink_keys=/etc/keys").find("over TCP only"),
              std::string::npos);
    EXPECT_NE(error_with("endpoints.uplink_keys=keys").find("a folder"), std::string::npos);
    for (const auto* e : {"tcp://a b:1", "tcp://:1", "tcp://host", "tcp://host:0", "tcp://*:5"})
        EXPECT_NE(error_with(std::string("endpoints.uplink=") + e).find("endpoints.uplink is "),
                  std::string::npos)
            << e;
}
TEST(MacdConfig, APeerMayLeaveWhereNoSlotWaitsForIt) {
    EXPECT_NE(error_with("peer_may_leave=on")
                  .find("with link.transmit_lead_slots = 0, so each slot waits"),
              std::string::npos);
    EXPECT_TRUE(
        with({"peer_may_leave=on", "link.transmit_lead_slots=6", "link.retransmission_delay_ms=8"})
            .peer_may_leave);
}
TEST(MacdConfig, NothingListensWhereEveryUserConnects) {
    for (const auto* e :
         {"tcp://0.0.0.0:5555", "tcp://*:5555", "tcp://127.0.0.1:0", "tcp://127.0.0.1:5555",
          "tcp://127.0.0.1:70000", "tcp://127.0.0.1:x", "tcp://127.0.0.1:", "udp://127.0.0.1:5",
          "ipc://", "ipc://@abstract", "file"})
        EXPECT_NE(error_with(std::string("endpoints.control=") + e).find("endpoints.control is "),
                  std::string::npos)
            << e;
    // Shared memory is for the lines of the slot path; those may go over ZeroMQ as well.
    EXPECT_NE(error_with("endpoints.control=shm:///tmp/x").find("ipc://PATH"), std::string::npos);
    EXPECT_NE(error_with("endpoints.uplink=shm://").find("shm://PATH, ipc://"), std::string::npos);
    EXPECT_EQ(error_with("endpoints.uplink=ipc:///tmp/x"), "no error");
}
TEST(MacdConfig, AnIpcPathThatIsTooLongIsRefused) {
    EXPECT_NE(
        error_with("endpoints.control=ipc:///" + std::string(120, 'a')).find("at most 107 bytes"),
        std::string::npos);
}
TEST(MacdConfig, TwoSocketsCannotShareAnEndpoint) {
    EXPECT_NE(error_with("endpoints.control=ipc://RUN/base.slot")
                  .find("valid: another endpoint than that of endpoints.slot_link"),
              std::string::npos);
}
TEST(MacdConfig, BadInterfaceSettingsAreRefused) {
    for (const auto* a :
         {"tun.name=", "tun.name=a-name-of-16-char", "tun.name=a/b", "tun.name=..",
          "tun.address=10.0.0.1", "tun.address=10.0.0.1/33", "tun.address=10.0.0/24",
          "tun.address=fe80::1/129", "tun.address=/24", "tun.address=10.0.0.1/-1", "tun.mtu=67",
          "tun.mtu=65536", "user=", "user=a b", "peer_timeout_s=0"})
        EXPECT_NE(error_with(a).find("; valid: "), std::string::npos) << a;
}
TEST(MacdConfig, TheLeadLeavesTheDelayTimeForTheFeedback) {
    EXPECT_EQ(
        with({"link.retransmission_delay_ms=8", "link.transmit_lead_slots=9"}).transmit_lead_slots,
        9);
    EXPECT_NE(error_with("link.transmit_lead_slots=1").find("valid: an integer 0, or 2..45 slots"),
              std::string::npos);
    for (const char* lead : {"10", "45"}) {
        const std::string error = error_with(std::string("link.transmit_lead_slots=") + lead,
                                             "link.retransmission_delay_ms=8");
        EXPECT_NE(error.find("link.transmit_lead_slots = " + std::string(lead) + " + "),
                  std::string::npos)
            << error;
        EXPECT_NE(error.find("; valid: "), std::string::npos) << error;
    }
}
TEST(MacdConfig, Ipv6NeedsItsSmallestMtu) {
    EXPECT_THROW(with({"tun.address=fd00::1/64", "tun.mtu=1279"}), config::error);
    EXPECT_EQ(with({"tun.address=fd00::1/64", "tun.mtu=1280"}).tun.mtu, 1280);
}
TEST(MacdConfig, EveryLimitOfTheTableIsAcceptedByTheLink) {
    for (const auto& k : macd_keys()) {
        if (k.type != config::kind::integer && k.type != config::kind::real) continue;
        for (const double limit : {k.lowest, k.highest}) {
            std::ostringstream value;
            value.precision(17);
            if (k.type == config::kind::integer)
                value << static_cast<std::int64_t>(limit);
            else
                value << limit;
            // The longest lead and the longest fader need the longest delay.
            const bool lead = k.path == "link.transmit_lead_slots" || k.path == "link.fader_slots";
            EXPECT_EQ(error_with(k.path + "=" + value.str(),
                                 lead ? "link.retransmission_delay_ms=32" : "seed=1"),
                      "no error")
                << k.path << " " << limit;
        }
    }
}
