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
    expect_refused([](auto& c) { c.bins = 0; }, "link.bins is 0; valid: 1..25");
    expect_refused([](auto& c) { c.bins = 26; }, "link.bins is 26; valid: 1..25");
    expect_refused([](auto& c) { c.modulation = 9; },
                   "link.modulation is 9; valid: 0 (adaptive) or 1..8");
    expect_refused([](auto& c) { c.modulation = -1; },
                   "link.modulation is -1; valid: 0 (adaptive) or 1..8");
    expect_refused([](auto& c) { c.max_retransmissions = 31; },
                   "link.max_retransmissions is 31; valid: 0..30");
    expect_refused([](auto& c) { c.max_retransmissions = -1; },
                   "link.max_retransmissions is -1; valid: 0..30");
    expect_refused([](auto& c) { c.retransmission_delay_slots = 2; },
                   "link retransmission_delay_slots is 2; valid: 3..48");
    expect_refused([](auto& c) { c.retransmission_delay_slots = 49; },
                   "link retransmission_delay_slots is 49; valid: 3..48");
    expect_refused([](auto& c) { c.queue_packets = 0; },
                   "link.queue_packets is 0; valid: 1..100000");
    expect_refused([](auto& c) { c.profile = static_cast<link_profile>(7); },
                   "link.profile is 7; valid: wipemu or radio");
    expect_refused([](auto& c) { c.allocation = static_cast<allocation_kind>(7); },
                   "link.allocation is 7; valid: static or best");
    expect_refused([](auto& c) { c.switch_table = static_cast<switch_table_kind>(7); },
                   "link.switch_table is 7; valid: nmse_0, nmse_0_1 or measured");
}

}  // namespace
}  // namespace wip
