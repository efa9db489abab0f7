// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of flows, and the comparison of two clocks.
#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>

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
    EXPECT_EQ(refusal("{}"), "flows is missing");
    EXPECT_EQ(refusal(R"({"flows": [{"kind": "bulk", "from": 0, "to": 0, "seconds": "1"}]})"),
              "flows[0].seconds is \"1\"; valid: a number 0.001..1000000");
    EXPECT_EQ(refusal(R"({"sides": ["10.0.0.1/24"], "flows":
                      [{"kind": "bulk", "from": 0, "to": 1, "seconds": 1}]})"),
              "flows[0].to is 1; valid: 0..0");
    EXPECT_EQ(refusal(R"({"sides": [], "flows": []})"),
              "sides is []; valid: a list of 1..32 entries");
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

TEST(KernelTime, ComparesTheClocksAlthoughTheProcessLosesTheProcessor) {
    // The first reading is interrupted for 5 ms, the second takes 300 ns and counts.
    std::deque<std::int64_t> real{1'000'005'000'050, 1'000'006'000'150};
    std::deque<std::int64_t> monotonic{0, 5'000'000, 6'000'000, 6'000'300};
    const auto next = [](std::deque<std::int64_t>& of) {
        const std::int64_t value = of.at(0);
        of.pop_front();
        return value;
    };
    EXPECT_EQ(realtime_ahead_ns([&] { return next(monotonic); }, [&] { return next(real); }),
              1'000'000'000'000);
}

}  // namespace
