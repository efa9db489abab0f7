// SPDX-License-Identifier: GPL-3.0-or-later
// When a party of a macd counts as dead, and when it is time to look.
#include <gtest/gtest.h>

#include <optional>

#include "macd/liveness.h"

namespace wip::host {
namespace {

using namespace std::chrono_literals;

class two_parties : public testing::Test {
protected:
    std::optional<liveness::finding> look(party owes) {
        return watch.look(owes, now, [this](party) { return connected; });
    }
    liveness watch{2.0};
    liveness::time now{std::chrono::hours(1)};
    bool connected = true;
};

TEST_F(two_parties, are_not_timed_before_the_run_has_begun) {
    watch.heard(party::flowgraph, false, now);  // a hello
    EXPECT_FALSE(look(party::flowgraph));
    EXPECT_FALSE(watch.next_look());
    now += 100s;
    EXPECT_FALSE(look(party::flowgraph));
}

TEST_F(two_parties, are_silent_when_they_owe_something_for_the_timeout) {
    watch.heard(party::flowgraph, true, now);
    EXPECT_FALSE(look(party::flowgraph));
    ASSERT_EQ(watch.next_look(), now + 2s);
    now += 2s - 1ns;
    EXPECT_FALSE(look(party::flowgraph));
    now += 1ns;
    const auto found = look(party::flowgraph);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->missing, party::flowgraph);
    EXPECT_TRUE(found->silent);
}

TEST_F(two_parties, may_be_silent_while_the_other_one_owes) {
    watch.heard(party::flowgraph, true, now);
    watch.heard(party::peer, true, now);
    EXPECT_FALSE(look(party::peer));
    now += 1500ms;
    watch.heard(party::peer, true, now);
    EXPECT_FALSE(look(party::flowgraph));  // its time begins to run here
    now += 1999ms;
    EXPECT_FALSE(look(party::flowgraph));
    now += 1ms;
    EXPECT_TRUE(look(party::flowgraph));
}

TEST_F(two_parties, have_died_when_the_connection_stays_closed_for_the_grace) {
    watch.closed(party::peer, now);
    watch.closed(party::flowgraph, now + 1ms);  // the first to go is the one to name
    connected = false;
    EXPECT_EQ(watch.next_look(), now + liveness::goodbye_grace);
    now += liveness::goodbye_grace - 1ns;
    EXPECT_FALSE(look(party::nobody));
    now += 1ns;
    const auto found = look(party::nobody);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->missing, party::peer);
    EXPECT_FALSE(found->silent);
}

TEST_F(two_parties, that_come_back_have_not_died) {
    watch.closed(party::peer, now);
    now += 10s;
    EXPECT_FALSE(look(party::nobody));  // it is connected
    connected = false;
    EXPECT_FALSE(look(party::nobody));
    EXPECT_FALSE(watch.next_look());
}

}  // namespace
}  // namespace wip::host
