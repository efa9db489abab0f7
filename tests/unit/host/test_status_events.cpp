// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>

#include "runtime/status_events.h"
#include "station/packet_gate.h"
#include "station_world.h"

namespace wip::host {
namespace {

using openwip::control::MacStatus;
using openwip::telemetry::Event;

class watched_counters : public testing::Test {
protected:
    watched_counters() { out.want(topic::event); }
    void drop(std::uint64_t packets) {
        status.mutable_downlink()->clear_dropped();
        add_drop(*status.mutable_downlink(), "queue_full", {packets, packets * 100});
    }
    // The events of one comparison as "kind reason count".
    std::vector<std::string> compare() {
        const std::size_t before = out.of(topic::event).size();
        events.compare(status, slot(++now));
        std::vector<std::string> reported;
        for (std::size_t i = before; i < out.of(topic::event).size(); ++i) {
            const auto& e = out.of(topic::event)[i].event();
            EXPECT_EQ(e.source(), "base");
            reported.push_back(e.kind() + " " + e.reason() + " " + std::to_string(e.count()));
        }
        return reported;
    }
    using texts = std::vector<std::string>;

    telemetry_spy out;
    status_events events{out, "base"};
    MacStatus status;
    std::int64_t now = 0;
};

TEST_F(watched_counters, what_was_counted_before_somebody_listened_is_no_event) {
    drop(1000);
    EXPECT_EQ(compare(), texts{});
    EXPECT_EQ(compare(), texts{});
}

TEST_F(watched_counters, one_reason_is_one_event_with_its_count) {
    compare();
    drop(3);
    EXPECT_EQ(compare(), texts{"drop queue_full 3"});
    EXPECT_EQ(compare(), texts{});
    drop(10);
    EXPECT_EQ(compare(), texts{"drop queue_full 7"});
}

TEST_F(watched_counters, the_uplink_says_that_it_is_the_uplink) {
    compare();
    add_drop(*status.mutable_uplink(), "loss", {2, 200});
    EXPECT_EQ(compare(), texts{"drop uplink.loss 2"});
}

TEST_F(watched_counters, losing_and_gaining_lock_are_two_events_of_different_severity) {
    status.mutable_radio()->set_locks(1);
    compare();
    status.mutable_radio()->set_losses_pilots(1);
    status.mutable_radio()->set_locks(2);
    EXPECT_EQ(compare(), (texts{"lock losses_pilots 1", "lock locked 1"}));
    EXPECT_EQ(out.of(topic::event)[0].event().severity(), Event::WARNING);
    EXPECT_EQ(out.of(topic::event)[1].event().severity(), Event::INFO);
}

TEST_F(watched_counters, late_slots_and_malformed_messages_are_told) {
    compare();
    status.mutable_radio()->set_late_slots(5);
    status.set_malformed_messages(2);
    EXPECT_EQ(compare(), (texts{"late late_slots 5", "malformed messages 2"}));
}

TEST_F(watched_counters, a_counter_of_its_owner_is_compared_in_the_same_way) {
    const auto step = [&](std::uint64_t total) {
        events.grew(Event::WARNING, "late", "slots_behind", total, slot(1));
        events.compare(status, slot(1));
        return out.of(topic::event).size();
    };
    EXPECT_EQ(step(7), 0U) << "before somebody listened";
    EXPECT_EQ(step(7), 0U);
    EXPECT_EQ(step(9), 1U);
    EXPECT_EQ(out.of(topic::event)[0].event().count(), 2U);
}

TEST_F(watched_counters, a_counter_that_was_reset_begins_again) {
    status.mutable_radio()->set_late_slots(5);
    compare();
    status.mutable_radio()->set_late_slots(2);
    EXPECT_EQ(compare(), texts{"late late_slots 2"});
    status.mutable_radio()->set_late_slots(0);
    EXPECT_EQ(compare(), texts{});
}

TEST_F(watched_counters, what_happened_while_nobody_listened_is_not_told_later) {
    compare();
    events.forget();
    drop(50);
    EXPECT_EQ(compare(), texts{});
    drop(51);
    EXPECT_EQ(compare(), texts{"drop queue_full 1"});
}

TEST_F(watched_counters, a_setting_is_told_at_once_and_only_to_who_listens) {
    events.say(Event::INFO, "setting", "link.bins = 10", slot(7));
    ASSERT_EQ(out.of(topic::event).size(), 1U);
    EXPECT_EQ(out.of(topic::event)[0].slot(), 7);
    out.want(topic::event, false);
    events.say(Event::INFO, "setting", "link.bins = 11", slot(8));
    EXPECT_EQ(out.of(topic::event).size(), 1U);
}

}  // namespace
}  // namespace wip::host
