// SPDX-License-Identifier: GPL-3.0-or-later
// Delay of packets that come alone over a bearer that loses blocks, beside equations 5.4 to 5.6 of
// Teyeb 2006, in TTI: N blocks, each lost with p, sent again `ret` TTI later.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "umts/bearer.h"
#include "umts_bearers.h"

namespace wip::umts {
namespace {

constexpr std::int64_t tti = 10'000'000;

// Of some block of N that it is sent again so often, or oftener.
double at_least(double p, int blocks, int times) {
    return 1 - std::pow(1 - std::pow(p, times), blocks);
}

double of_the_text(double p, int blocks, int ret) {
    double first = 0;
    for (int j = 1; j <= blocks; ++j) first += std::max(1, ret - (blocks - 1 - j));
    return blocks + at_least(p, blocks, 1) * first / blocks +
           ret * (at_least(p, blocks, 2) + at_least(p, blocks, 3));
}

// A block that is lost is missed by the receiver when the next one is there, 2 TTI and the radio
// delay later; the status waits for half an interval, takes one and the radio delay, and the next
// interval begins half a TTI later: with (ret - 4) / 2 TTI of radio delay that is `ret`. Of the
// last block the poll's timer does it.
double measured(double p, int blocks, int ret, int packets) {
    bearer_config c = of_profile("umts-384");
    c.profile.radio_ms = 5.0 * (ret - 4);
    c.profile.one_way_ms = c.profile.radio_ms + 15;  // no core network
    c.errors_down.rate = p;
    c.rlc.largest_sdu = 20'000;
    c.rlc.max_dat = 1000;
    c.rlc.poll_timer_ns = c.rlc.status_prohibit_ns = ret * tti;
    bearer b(c);
    std::int64_t began = 0, sum = 0;
    int arrived = 0;
    b.downlink().deliver_to([&](const link_packet& p) {
        sum += p.due_ns - began - (ret - 4) * tti / 2;
        ++arrived;
        return 0;
    });
    for (int i = 0; i < packets; ++i) {
        began += 1000 * tti;
        run_to(b, began - 1);
        b.downlink().offer(packet(480 * blocks - 40), began);  // the LI has room
    }
    run_to(b, began + 1000 * tti);
    EXPECT_EQ(arrived, packets);
    return static_cast<double>(sum) / static_cast<double>(tti) / packets;
}

TEST(Delay, TheTextsEquationsHaveTheDigitsThatItPrints) {
    EXPECT_NEAR(of_the_text(0.1, 1, 10), 2.21, 0.005);
    EXPECT_NEAR(of_the_text(0.1, 4, 20), 11.57, 0.005);
    EXPECT_NEAR(of_the_text(0.1, 38, 30), 61.64, 0.005);
}

TEST(Delay, IsThatOfTheTextsEquationsWithin9Percent) {
    for (const int blocks : {1, 4, 38})
        for (const int ret : {10, 20, 30})
            for (const double p : {0.05, 0.1}) {
                const double text = of_the_text(p, blocks, ret),
                             ours = measured(p, blocks, ret, blocks == 38 ? 1000 : 4000);
                const std::string point = "N " + std::to_string(blocks) + ", ret " +
                                          std::to_string(ret) + ", p " + std::to_string(p);
                RecordProperty(point, std::to_string(ours) + " of " + std::to_string(text));
                EXPECT_NEAR(ours / text, 1, 0.09) << point << ": " << ours << " of " << text;
            }
}

}  // namespace
}  // namespace wip::umts
