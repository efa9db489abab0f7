// SPDX-License-Identifier: GPL-3.0-or-later
// A recorded network as a link of the emulator: files that it reads and refuses, profiles of
// browsers, and what it reports and takes while it runs.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "emulator/delayed_path.h"
#include "emulator/emulator_config.h"
#include "emulator/throttling_profile.h"

using namespace wip;
using namespace wip::emulator;

namespace {

constexpr std::int64_t ms = 1'000'000;

class TracePath : public testing::Test {
protected:
    void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string file(const std::string& name, const std::string& text) const {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << text;
        return path;
    }
    static emulator_config made(const std::vector<std::string>& assignments) {
        config::settings s(emulator_keys());
        s.merge_assignment("link.kind=trace");
        s.merge_assignment("terminal.namespace=x");
        for (const auto& a : assignments) s.merge_assignment(a);
        return translate(s);
    }
    static std::string refusal(const std::vector<std::string>& assignments) {
        try {
            const pair_path path(made(assignments));
        } catch (const config::error& e) {
            return e.what();
        }
        return "";
    }
    // When a packet leaves that comes then, in ms.
    static double departure(packet_link& link, pair_path& path, std::int64_t now_ns,
                            std::size_t bytes = 1500) {
        double left = -1;
        link.deliver_to([&](const link_packet& p) {
            left = static_cast<double>(p.due_ns) / ms;
            return 0;
        });
        path.links.advance(now_ns);
        link.offer(std::vector<std::uint8_t>(bytes, 0x45), now_ns);
        path.links.advance(now_ns + 1000 * ms);
        return left;
    }

    std::string folder_ = testing::TempDir() + "openwip-trace-XXXXXX";
};

throttling_profile profile(const std::string& text) { return read_throttling_profile(text); }

std::string refused_profile(const std::string& text) {
    try {
        profile(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "";
}

}  // namespace

TEST(ThrottlingProfile, EveryFormSaysTheSame) {
    for (const auto* text :
         {R"({"offline": false, "latency": 400, "downloadThroughput": 50000,
              "uploadThroughput": 25000, "connectionType": "cellular3g"})",
          R"({"network_conditions": {"latency": 400, "download_throughput": 50000,
              "upload_throughput": 25000, "offline": false}})",
          R"([{"title": "mine", "latency": 400, "download": 50000, "upload": 25000}])",
          R"({"rttMs": 400, "requestLatencyMs": 1500, "downloadThroughputKbps": 400,
              "uploadThroughputKbps": 200, "cpuSlowdownMultiplier": 4})"}) {
        const auto p = profile(text);
        EXPECT_DOUBLE_EQ(p.round_trip_ms, 400) << text;
        EXPECT_DOUBLE_EQ(p.down_kbps, 400) << text;
        EXPECT_DOUBLE_EQ(p.up_kbps, 200) << text;
        EXPECT_EQ(p.loss, 0);
    }
    const auto lighthouse = profile(
        R"({"rttMs": 150, "throughputKbps": 1638.4, "requestLatencyMs": 562.5,
            "downloadThroughputKbps": 1474.56, "uploadThroughputKbps": 675})");
    EXPECT_DOUBLE_EQ(lighthouse.round_trip_ms, 150);
    EXPECT_DOUBLE_EQ(lighthouse.up_kbps, 1638.4);
    const auto more = profile(
        R"({"latency": 0, "download": -1, "upload": 0, "packetLoss": 2.5, "packetQueueLength": 7})");
    EXPECT_EQ(more.down_kbps, 0);
    EXPECT_DOUBLE_EQ(more.loss, 0.025);
    EXPECT_EQ(more.queue_packets, 7);
}

TEST(ThrottlingProfile, WhatCannotBeIsRefusedByItsKey) {
    for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
             {"{", "is no JSON"},
             {"[]", "is no object of JSON"},
             {"[1, 2]", "is no object of JSON"},
             {R"({"latency": 1, "upload": 5000})", "has no download throughput"},
             {R"({"download": 5000, "latency": 1})", "has no upload throughput"},
             {R"({"download": "fast", "upload": 1})", "download is \"fast\"; valid: -1.."},
             {R"({"download": 3, "upload": -1})", "download is 3.0; valid: -1 (no limit) or 125"},
             {R"({"download": -2, "upload": -1})", "download is -2"},
             {R"({"latency": -1, "download": -1, "upload": -1})",
              "latency is -1; valid: 0..120000"},
             {R"({"packetLoss": 101, "download": -1, "upload": -1})", "packetLoss is 101"},
             {R"({"offline": true, "download": -1, "upload": -1})",
              "offline is true; valid: false"},
             {R"({"packetReordering": true, "download": -1, "upload": -1})", "packetReordering"},
             {R"({"download": -1, "upload": -1, "jitter": 5})", "'jitter' is 5; valid: latency"}}) {
        EXPECT_NE(refused_profile(text).find(why), std::string::npos)
            << text << ": " << refused_profile(text);
    }
}

TEST_F(TracePath, EachDirectionHasItsFiles) {
    const auto down = file("down", "10\n20\n"), up = file("up", "50\n");
    pair_path path(made({"trace.file=" + down, "trace.up_file=" + up, "trace.delay_ms=2.5"}));
    EXPECT_EQ(departure(path.downlink(), path, 1 * ms), 12.5);
    EXPECT_EQ(departure(path.uplink(), path, 2001 * ms), 2052.5);
    pair_path same(made({"trace.file=" + down}));
    EXPECT_EQ(departure(same.uplink(), same, 11 * ms), 20);
    const auto light = file("light", "0 30 0 1\n1000 30 0 1\n");
    pair_path both(made({"trace.file=" + down, "trace.light_file=" + light}));
    EXPECT_EQ(departure(both.downlink(), both, 1 * ms), 31);
    pair_path delays(made({"trace.file=" + file("delays", "0 4\n1000 14\n")}));
    EXPECT_EQ(departure(delays.uplink(), delays, 500 * ms), 509);
}

TEST_F(TracePath, AProfileIsBothDirections) {
    const auto json = file("slow.json", R"({"latency": 100, "download": 150000, "upload": 15000})");
    pair_path path(made({"trace.file=" + json, "trace.delay_ms=1"}));
    EXPECT_EQ(departure(path.downlink(), path, 0), 61);          // 10 ms at 1200 kbit/s
    EXPECT_EQ(departure(path.uplink(), path, 2000 * ms), 2151);  // 100 ms at 120 kbit/s
}

TEST_F(TracePath, ReportsItsRateAndTakesSettingsWhileItRuns) {
    const auto down = file("down", "10\n20\n");
    auto c = made({"trace.file=" + down, "trace.delay_ms=5"});
    pair_path path(c);
    EXPECT_EQ(departure(path.downlink(), path, 1 * ms), 15);
    openwip::control::MacStatus base, terminal;
    path.fill_base(base);
    path.fill_terminal(terminal);
    EXPECT_EQ(base.base().payload_bits_acknowledged(), 12000U);
    EXPECT_NEAR(base.recorded().mean_rate_bps(), 1.2e6, 1.3e4);
    EXPECT_EQ(base.recorded().base_delay_ms(), 5);
    EXPECT_TRUE(terminal.has_recorded());

    c.recorded.delay_ms = 7;
    c.recorded.down.queue.kind = queue_kind::codel;
    path.carrier->apply(c, 2000 * ms);
    EXPECT_EQ(departure(path.downlink(), path, 2001 * ms), 2017);
    EXPECT_EQ(departure(path.uplink(), path, 4001 * ms), 4017);
}

TEST_F(TracePath, FilesThatAreNoTraceAreRefusedWithSettingFileAndLine) {
    const auto good = file("good", "10\n20\n"), bad = file("bad", "10\nx\n");
    const auto light = file("light", "0 30 0 1\n1000 30 0 1\n");
    EXPECT_NE(refusal({}).find("trace.file"), std::string::npos) << refusal({});
    for (const auto& [assignments, why] :
         std::vector<std::pair<std::vector<std::string>, std::string>>{
             {{"trace.file=" + bad}, "trace.file = " + bad + ": line 2 is 'x'"},
             {{"trace.file=" + good, "trace.up_file=" + bad}, "trace.up_file = " + bad},
             {{"trace.file=" + good, "trace.light_file=" + bad}, "trace.light_file = " + bad},
             {{"trace.file=" + good, "trace.light_file=" + good}, "line 1 has one number"},
             {{"trace.file=" + light, "trace.light_file=" + light}, "has base delays already"},
             {{"trace.file=" + folder_ + "/gone"}, "cannot be read: No such file"},
             {{"trace.file=" + folder_}, "is no regular file"},
             {{"trace.file=" + file("empty", "")}, "has a duration of 0 ms"},
             {{"trace.file=" + file("p.json", R"({"latency": 1})")}, "has no download"},
             {{"trace.file=" + good, "link.kind=ofdm", "trace.up_file=" + good}, "trace.up_file"},
         }) {
        EXPECT_NE(refusal(assignments).find(why), std::string::npos)
            << why << ": " << refusal(assignments);
    }
    const std::string fifo = folder_ + "/fifo";
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_NE(refusal({"trace.file=" + fifo}).find("is no regular file"), std::string::npos);
}
