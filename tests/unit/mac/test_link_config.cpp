// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "link/base_station_mac.h"
#include "link/link_config.h"
#include "link/terminal_mac.h"

namespace wip {
namespace {

// The message names key and value, and what would be valid.
void expect_refused(const std::function<void(link_config&)>& change, const std::string& message) {
    link_config c;
    change(c);
    const auto message_of = [](const std::function<void()>& f) -> std::string {
        try {
            f();
        } catch (const std::invalid_argument& e) {
            return e.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message_of([&] { c.check(); }), message);
    EXPECT_EQ(message_of([&] { base_station_mac b(c); }), message);
    EXPECT_EQ(message_of([&] { terminal_mac t(c, [](auto, bool) {}); }), message);
}

TEST(LinkConfig, TheDefaultsAreValid) { EXPECT_NO_THROW(link_config{}.check()); }

TEST(LinkConfig, EveryValueOutOfRangeIsNamedWithItsRange) {
    expect_refused([](auto& c) { c.bins = 0; }, "bins = 0: must be 1 .. 25");
    expect_refused([](auto& c) { c.bins = 26; }, "bins = 26: must be 1 .. 25");
    expect_refused([](auto& c) { c.modulation = 9; },
                   "modulation = 9: must be 0 (adaptive) or 1 .. 8");
    expect_refused([](auto& c) { c.modulation = -1; },
                   "modulation = -1: must be 0 (adaptive) or 1 .. 8");
    expect_refused([](auto& c) { c.max_retransmissions = 31; },
                   "max_retransmissions = 31: must be 0 .. 30");
    expect_refused([](auto& c) { c.max_retransmissions = -1; },
                   "max_retransmissions = -1: must be 0 .. 30");
    expect_refused([](auto& c) { c.retransmission_delay_slots = 2; },
                   "retransmission_delay_slots = 2: must be 3 .. 48");
    expect_refused([](auto& c) { c.retransmission_delay_slots = 49; },
                   "retransmission_delay_slots = 49: must be 3 .. 48");
    expect_refused([](auto& c) { c.queue_packets = 0; }, "queue_packets = 0: must be 1 .. 100000");
    expect_refused([](auto& c) { c.profile = static_cast<link_profile>(7); },
                   "profile = 7: must be wipemu or radio");
    expect_refused([](auto& c) { c.allocation = static_cast<allocation_kind>(7); },
                   "allocation = 7: must be static or best");
    expect_refused([](auto& c) { c.switch_table = static_cast<switch_table_kind>(7); },
                   "switch_table = 7: must be nmse_0, nmse_0_1 or measured");
}

}  // namespace
}  // namespace wip
