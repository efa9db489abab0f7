// SPDX-License-Identifier: GPL-3.0-or-later
// Virtual time with participants that follow a script.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "calendar/calendar.h"
#include "packet/wired_link.h"

namespace wip {
namespace {

// Wants to run at the times of a list; says so in a log, and does something more.
class scripted final : public participant {
public:
    scripted(std::string name, std::vector<std::int64_t> times, std::vector<std::string>& log)
        : name_(std::move(name)), times_(std::move(times)), log_(&log) {}
    std::int64_t next_wakeup() const override { return at_ < times_.size() ? times_[at_] : never; }
    std::int64_t advance(std::int64_t now) override {
        log_->push_back(name_ + std::to_string(now));
        ++at_;
        return then ? then(now) : now;
    }
    void wants(std::int64_t t) { times_.push_back(t); }
    std::function<std::int64_t(std::int64_t)> then;

private:
    std::string name_;
    std::vector<std::int64_t> times_;
    std::size_t at_ = 0;
    std::vector<std::string>* log_;
};

using words = std::vector<std::string>;

TEST(calendar, the_earliest_goes_first_and_of_the_same_time_who_was_added_first) {
    words log;
    scripted a("a", {5, 30}, log), b("b", {5, 10}, log);
    calendar c;
    c.add(a);
    c.add(b);
    while (c.step(100)) {
    }
    EXPECT_EQ(log, (words{"a5", "b5", "b10", "a30"}));
    EXPECT_EQ(c.now(), 100);
    EXPECT_EQ(c.steps(), 4U);
}

TEST(calendar, a_step_is_no_later_than_its_limit) {
    words log;
    scripted a("a", {5, 11}, log);
    calendar c;
    c.add(a);
    EXPECT_TRUE(c.step(10));
    EXPECT_FALSE(c.step(10));
    EXPECT_EQ(c.now(), 10);
    EXPECT_TRUE(c.step(11));
    EXPECT_FALSE(c.step(participant::never - 1));
}

TEST(calendar, what_one_gives_another_at_the_same_time_is_done_at_that_time) {
    words log;
    scripted a("a", {5}, log), b("b", {}, log);
    a.then = [&](std::int64_t now) {
        b.wants(now);
        return now;
    };
    calendar c;
    c.add(b);
    c.add(a);
    while (c.step(100)) {
    }
    EXPECT_EQ(log, (words{"a5", "b5"}));
}

TEST(calendar, one_may_go_on_by_itself_until_another_wants_something) {
    words log;
    scripted a("a", {5, 8}, log), b("b", {7}, log);
    calendar c;
    c.add(a);
    c.add(b);
    std::vector<std::int64_t> others;
    a.then = [&](std::int64_t now) {
        others.push_back(c.before_others(a));
        return now == 5 ? std::int64_t{6} : now;
    };
    ASSERT_TRUE(c.step(100));
    EXPECT_EQ(c.now(), 6);
    while (c.step(100)) {
    }
    EXPECT_EQ(others, (std::vector<std::int64_t>{7, 100}));
    EXPECT_EQ(log, (words{"a5", "b7", "a8"}));
}

TEST(calendar, nobody_runs_in_the_past) {
    words log;
    scripted a("a", {5, 4}, log), b("b", {5}, log);
    calendar c;
    c.add(a);
    ASSERT_TRUE(c.step(100));
    EXPECT_THROW(c.step(100), std::logic_error);
    calendar d;
    d.add(b);
    b.then = [](std::int64_t now) { return now - 1; };
    EXPECT_THROW(d.step(100), std::logic_error);
}

TEST(calendar, a_packet_link_is_advanced_when_its_packets_are_due) {
    packet_model::wired_config config;
    config.delay_ms = 2;
    packet_model::wired_link link(config, 1);
    std::vector<std::int64_t> arrived;
    calendar c;
    link.deliver_to([&](const link_packet&) {
        arrived.push_back(c.now());
        return 0;
    });
    words log;
    scripted sender("s", {100, 700}, log);
    const std::vector<std::uint8_t> packet(100);
    sender.then = [&](std::int64_t now) {
        link.offer(packet, now);
        return now;
    };
    link_participant line(link);
    c.add(sender);
    c.add(line);
    while (c.step(10'000'000)) {
    }
    EXPECT_EQ(arrived, (std::vector<std::int64_t>{2'000'100, 2'000'700}));
    EXPECT_TRUE(link.idle());
}

}  // namespace
}  // namespace wip
