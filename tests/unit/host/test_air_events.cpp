// SPDX-License-Identifier: GPL-3.0-or-later
// The events that are made of the medium's answers when it is asked for its status.
#include <gtest/gtest.h>

#include "observer/air_events.h"
#include "station_world.h"

namespace wip::observer {
namespace {

using host::topic;
using openwip::telemetry::Event;
using texts = std::vector<std::string>;

class asked_medium : public testing::Test {
protected:
    asked_medium() {
        out.want(topic::event);
        for (const char* name : {"base", "terminal"}) status.add_nodes()->set_name(name);
        set(base, 11);
        status.mutable_nodes(base)->set_transmits(true);
        status.mutable_nodes(base)->set_receives(true);
    }
    static constexpr int base = 0, terminal = 1;
    void set(int node, std::uint64_t process) { status.mutable_nodes(node)->set_process(process); }
    void change(std::int64_t at, const std::string& key, const std::string& to) {
        auto& c = *status.add_changes();
        c.set_slot(at);
        c.set_key(key);
        c.set_to(to);
        status.set_changes_made(status.changes_made() + 1);
    }
    // The events of one answer: "kind reason count".
    texts hear() {
        events.compare(status, slot(++now));
        return reported();
    }
    texts reported() {
        texts all;
        for (; seen < out.of(topic::event).size(); ++seen) {
            const auto& e = out.of(topic::event)[seen].event();
            EXPECT_EQ(e.source(), "air");
            all.push_back(e.kind() + " " + e.reason() + " " + std::to_string(e.count()));
        }
        return all;
    }
    const openwip::telemetry::Telemetry& last() const { return out.of(topic::event).back(); }

    host::telemetry_spy out;
    air_events events{out};
    openwip::control::AirStatus status;
    std::size_t seen = 0;
    std::int64_t now = 0;
};

TEST_F(asked_medium, tells_nothing_of_what_was_before) {
    status.set_slots_behind(7);
    change(3, "channel.snr_db", "20");
    EXPECT_EQ(hear(), texts{});
    EXPECT_EQ(hear(), texts{});
}

TEST_F(asked_medium, tells_how_much_each_counter_grew) {
    hear();
    status.set_slots_behind(4);
    status.set_late(3);
    status.set_underflows(2);
    status.set_overflows(1);
    EXPECT_EQ(hear(), (texts{"late slots_behind 4", "late late_transmissions 3",
                             "late underflows 2", "late overflows 1"}));
    EXPECT_EQ(last().event().severity(), Event::ERROR);
    status.set_slots_behind(10);
    EXPECT_EQ(hear(), texts{"late slots_behind 6"});
    EXPECT_EQ(last().event().severity(), Event::WARNING);
}

TEST_F(asked_medium, tells_what_a_fader_lost_and_clipped_and_why) {
    hear();
    status.set_lost_samples(700);
    status.mutable_fader_radios()->set_silences(1);
    status.mutable_fader_radios()->set_stalls(2);
    EXPECT_EQ(hear(), (texts{"fader lost_samples 700", "fader silences 1", "fader stalls 2"}));
    EXPECT_EQ(last().event().severity(), Event::ERROR);
    status.set_clipped(5);
    EXPECT_EQ(hear(), texts{"fader clipped 5"});
    EXPECT_EQ(last().event().severity(), Event::WARNING);
    EXPECT_EQ(hear(), texts{});
}

TEST_F(asked_medium, counts_anew_when_its_counters_were_reset) {
    status.set_slots_behind(100);
    hear();
    status.set_slots_behind(2);
    EXPECT_EQ(hear(), texts{"late slots_behind 2"});
}

TEST_F(asked_medium, tells_who_connects_and_who_goes) {
    hear();
    set(terminal, 12);
    EXPECT_EQ(hear(), texts{"radio terminal connected 1"});
    EXPECT_EQ(last().event().severity(), Event::INFO);
    status.mutable_nodes(terminal)->set_receives(true);
    EXPECT_EQ(hear(), texts{}) << "the same process streams";
    set(base, 0);
    set(terminal, 13);
    EXPECT_EQ(hear(), (texts{"radio base disconnected 1", "radio terminal connected 1"}));
    EXPECT_EQ(out.of(topic::event)[seen - 2].event().severity(), Event::WARNING);
}

TEST_F(asked_medium, tells_each_setting_once_with_the_slot_from_which_it_holds) {
    change(3, "channel.snr_db", "20");
    hear();
    change(70, "channel.model", "etu");
    change(71, "channel.blackout", "200");
    EXPECT_EQ(hear(), (texts{"setting channel.model = etu 1", "setting channel.blackout = 200 1"}));
    EXPECT_EQ(last().slot(), 71);
    EXPECT_EQ(hear(), texts{});
}

TEST_F(asked_medium, that_keeps_fewer_changes_than_were_made_has_these_told) {
    hear();
    change(70, "channel.model", "etu");
    status.set_changes_made(300);
    EXPECT_EQ(hear(), texts{"setting channel.model = etu 1"});
}

TEST_F(asked_medium, is_said_to_be_silent_once) {
    hear();
    events.no_answer(slot(5));
    events.no_answer(slot(6));
    EXPECT_EQ(reported(), texts{"run does not answer 1"});
    EXPECT_EQ(hear(), texts{"run answers again 1"});
    EXPECT_EQ(hear(), texts{});
}

TEST_F(asked_medium, whose_news_nobody_wants_is_not_told_later) {
    hear();
    events.forget();
    status.set_slots_behind(4);
    set(terminal, 12);
    change(70, "channel.model", "etu");
    EXPECT_EQ(hear(), texts{});
    status.set_slots_behind(5);
    EXPECT_EQ(hear(), texts{"late slots_behind 1"});
}

}  // namespace
}  // namespace wip::observer
