// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of flows, when their applications have something to send, and the comparison of two clocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <stdexcept>
#include <string>

#include "flow/arrivals.h"
#include "flow/kernel_time.h"
#include "flow/plan.h"

namespace {

using namespace wip::flow;

std::string refusal(const std::string& text) {
    try {
        read_plan(text);
    } catch (const std::invalid_argument& e) {
        return e.what();
    }
    return "taken";
}

TEST(Plan, KeepsTheOrderOfSettingsAndHasTheDefaultsOfTheSchema) {
    const plan p = read_plan(R"({"sides": ["10.0.0.1/24", "10.0.0.2/24"], "seed": 7,
        "sysctls": {"z": "1", "a": "2"},
        "flows": [{"kind": "transfer", "from": 0, "to": 1, "bytes": 9, "start_s": 1.5},
                  {"kind": "sessions", "from": 1, "to": 0, "files": [{"bytes": 3}]}]})");
    ASSERT_EQ(p.sysctls.size(), 2U);
    EXPECT_EQ(p.sysctls[0].first, "z");
    EXPECT_EQ(p.port, 5001);
    EXPECT_EQ(p.flows[0].start_s, 1.5);
    EXPECT_EQ(p.flows[0].buffer_kb, 0);
    EXPECT_FALSE(p.flows[1].start_s);
    EXPECT_EQ(p.flows[1].number, 1);
    EXPECT_EQ(p.flows[1].files[0].times, 1);
}

TEST(Plan, SaysWhatIsWrongWhereAndWhatIsValid) {
    EXPECT_EQ(refusal("{}"), "flows is missing in the plan");
    EXPECT_EQ(refusal(R"({"flows": [{"kind": "bulk", "from": 0, "to": 0, "seconds": "1"}]})"),
              "flows[0].seconds is \"1\"; valid: a number 0.001..1000000");
    EXPECT_EQ(refusal(R"({"sides": ["10.0.0.1/24"], "flows":
                      [{"kind": "bulk", "from": 0, "to": 1, "seconds": 1}]})"),
              "flows[0].to is 1; valid: 0..0");
    EXPECT_EQ(refusal(R"({"sides": [], "flows": []})"),
              "sides is []; valid: a list of 1..256 entries");
    EXPECT_EQ(refusal("{").substr(0, 19), "the plan of the tra");
}

TEST(Plan, HasAsManyPacketsOfSpeechAsIntervalsFitIn) {
    flow f;
    f.seconds = 6;
    for (const auto& [interval, packets] :
         {std::pair{0.02, 300}, {1.0 / 3, 18}, {0.7, 9}, {7.0, 1}}) {
        f.interval_s = interval;
        EXPECT_EQ(f.packets(), packets);
    }
}

flow flow_of(const std::string& settings) {
    return read_plan(R"({"sides": ["10.0.0.1/24", "10.0.0.2/24"], "flows": [{"from": 0, "to": 1,
        "seconds": 1, "seed": 7, )" +
                     settings + "}]}")
        .flows[0];
}

TEST(Arrivals, PacketsOfTelnetAreAPoissonProcessOfTheSeed) {
    const flow f = flow_of(R"("kind": "telnet", "packets_per_s": 2.5, "packet_bytes": 100)");
    constexpr int seconds = 40'000;
    packet_arrivals all(f), a(f);
    double sum = 0, squares = 0;
    std::uint64_t bytes = 0;
    for (int s = 1; s <= seconds; ++s) {
        const auto here = a.until(s);
        EXPECT_GT(a.next(), s);
        const double packets = static_cast<double>(here) / 100;
        sum += packets;
        squares += packets * packets;
        bytes += here;
    }
    EXPECT_EQ(all.until(seconds), bytes);
    // Mean and variance are 2.5; three deviations of either from 40,000 s.
    const double mean = sum / seconds;
    EXPECT_NEAR(mean, 2.5, 3 * std::sqrt(2.5 / seconds));
    EXPECT_NEAR(squares / seconds - mean * mean, 2.5,
                3 * std::sqrt((2.5 + 2 * 2.5 * 2.5) / seconds));
    flow other = f;
    other.seed = 8;
    EXPECT_NE(packet_arrivals(other).next(), packet_arrivals(f).next());
}

TEST(Arrivals, PagesOfHttpHaveTheirPausesAndSizes) {
    const flow f = flow_of(R"("kind": "http", "pareto_shape": 3, "visit_pages": 3)");
    page_arrivals pages(f);
    constexpr int n = 20'000;
    double pause = 0, between = 0, packets = 0;
    std::uint64_t least = 1000 * f.packet_bytes;
    for (int i = 0; i < n; ++i) {
        const auto p = pages.next();
        EXPECT_EQ(p.first, i % 3 == 0);
        ASSERT_EQ(p.objects.size(), 4U);
        EXPECT_EQ(p.objects[0].after_s, 0);
        pause += p.pause_s / n;
        for (const auto& o : p.objects) {
            between += o.after_s / (3 * n);
            EXPECT_EQ(o.bytes % 960, 0U);
            packets += static_cast<double>(o.bytes) / 960 / (4 * n);
            least = std::min(least, o.bytes);
        }
    }
    EXPECT_NEAR(pause, 1, 3 / std::sqrt(n));
    EXPECT_NEAR(between, 0.01, 3 * 0.01 / std::sqrt(3 * n));
    // A mean of 10 with shape 3: at least 20/3, deviation 10/sqrt(3).
    EXPECT_NEAR(packets, 10, 3 * 10 / std::sqrt(3.0 * 4 * n));
    EXPECT_EQ(least, 7U * 960);
}

TEST(Arrivals, TheScaleOfTheSizesIsTheirMeanOrTheirLeast) {
    const auto smallest = [](const flow& f) {
        page_arrivals pages(f);
        std::uint64_t least = 1'000'000'000;
        for (int i = 0; i < 2000; ++i)
            for (const auto& o : pages.next().objects) least = std::min(least, o.bytes / 960);
        return least;
    };
    // A shape of 1.2 and a mean of 10 have the least value 10 * 0.2 / 1.2 = 1.67, which is rounded.
    EXPECT_EQ(smallest(flow_of(R"("kind": "http")")), 2U);
    EXPECT_EQ(smallest(flow_of(R"("kind": "http", "pareto_scale": "least")")), 10U);
    EXPECT_EQ(smallest(flow_of(R"("kind": "http", "object_packets": 1)")), 1U);
}

TEST(KernelTime, ComparesTheClocksAlthoughTheProcessLosesTheProcessor) {
    // The first reading is interrupted for 5 ms, the second takes 300 ns and counts.
    std::deque<std::int64_t> real{1'000'005'000'050, 1'000'006'000'150};
    std::deque<std::int64_t> monotonic{0, 5'000'000, 6'000'000, 6'000'300};
    const auto next = [](std::deque<std::int64_t>& numbers) {
        const std::int64_t value = numbers.at(0);
        numbers.pop_front();
        return value;
    };
    EXPECT_EQ(realtime_ahead_ns([&] { return next(monotonic); }, [&] { return next(real); }),
              1'000'000'000'000);
}

}  // namespace
