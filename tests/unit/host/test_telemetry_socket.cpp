// SPDX-License-Identifier: GPL-3.0-or-later
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include "peer/endpoint.h"
#include "runtime/telemetry_socket.h"
#include "types/failure.h"

namespace wip::host {
namespace {

using namespace std::chrono_literals;
using openwip::telemetry::Telemetry;

class publisher_and_readers : public testing::Test {
protected:
    ~publisher_and_readers() override { std::filesystem::remove_all(folder); }

    zmq::socket_t reader(const std::string& beginning, int queue = 1000) {
        zmq::socket_t s(context, zmq::socket_type::sub);
        s.set(zmq::sockopt::linger, 0);
        s.set(zmq::sockopt::rcvhwm, queue);
        s.set(zmq::sockopt::subscribe, beginning);
        s.connect(endpoint);
        return s;
    }
    // Connections are made by another thread: until it has, with a bound for the case of a fault.
    template <class Condition>
    bool eventually(Condition&& condition) {
        for (int i = 0; i < 20000; ++i) {
            out.listen();
            if (condition()) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }
    bool eventually_wanted(topic t) {
        return eventually([&] { return out.wanted(t); });
    }
    static bool take(zmq::socket_t& s, std::string& name, Telemetry& m, bool wait) {
        zmq::message_t frame;
        s.set(zmq::sockopt::rcvtimeo, wait ? 20000 : 0);
        if (!s.recv(frame)) return false;
        name = frame.to_string();
        EXPECT_TRUE(frame.more());
        EXPECT_TRUE(s.recv(frame));
        EXPECT_FALSE(frame.more());
        EXPECT_TRUE(m.ParseFromArray(frame.data(), static_cast<int>(frame.size())));
        return true;
    }
    static std::string make_folder() {
        char text[] = "/tmp/openwip-telemetry-XXXXXX";
        return ::mkdtemp(text);
    }

    std::string folder = make_folder();
    std::string endpoint = "ipc://" + folder + "/t";
    zmq::context_t context{1};
    telemetry_socket out{context, endpoint, 20, "endpoints.telemetry"};
    std::string name;
    Telemetry got;
};

TEST_F(publisher_and_readers, what_nobody_listens_to_is_not_wanted_and_does_not_count) {
    for (std::size_t t = 0; t < nof_topics; ++t) {
        EXPECT_FALSE(out.wanted(static_cast<topic>(t)));
        EXPECT_FALSE(out.due(static_cast<topic>(t), slot(0)));
        out.publish(static_cast<topic>(t), slot(1));
        EXPECT_EQ(out.sequence(static_cast<topic>(t)), 0U);
    }
    auto r = reader("slot");
    ASSERT_TRUE(eventually_wanted(topic::slot));
    for (std::size_t t = 0; t < nof_topics; ++t)
        EXPECT_EQ(out.wanted(static_cast<topic>(t)), static_cast<topic>(t) == topic::slot) << t;
    out.publish(topic::status, slot(1));
    EXPECT_EQ(out.sequence(topic::status), 0U);
}

TEST_F(publisher_and_readers, every_topic_counts_its_own_messages_from_one) {
    auto r = reader("");
    ASSERT_TRUE(eventually_wanted(topic::event));
    for (int i = 0; i < 3; ++i) {
        out.publish(topic::slot, slot(100 + i), 7);
        if (i != 1) out.publish(topic::frames, slot(100 + i));
    }
    out.flush();
    std::map<std::string, std::vector<std::uint64_t>> seen;
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(take(r, name, got, true));
        seen[name].push_back(got.sequence());
        EXPECT_EQ(got.version(), static_cast<unsigned>(openwip::telemetry::VERSION_CURRENT));
        EXPECT_GT(got.wall_ns(), 0);
        EXPECT_EQ(got.user(), name == "slot" ? 7U : 0U);
    }
    EXPECT_EQ(seen["slot"], (std::vector<std::uint64_t>{1, 2, 3}));
    EXPECT_EQ(seen["frames"], (std::vector<std::uint64_t>{1, 2}));
    EXPECT_EQ(got.slot(), 102);
}

TEST_F(publisher_and_readers, a_beginning_of_a_name_is_a_subscription_to_all_that_begin_so) {
    auto r = reader("s");
    ASSERT_TRUE(eventually_wanted(topic::slot));
    EXPECT_TRUE(out.wanted(topic::status));
    EXPECT_FALSE(out.wanted(topic::ip));
}

TEST_F(publisher_and_readers, the_last_reader_to_leave_ends_a_topic) {
    auto first = std::make_unique<zmq::socket_t>(reader("packet"));
    auto second = std::make_unique<zmq::socket_t>(reader("packet"));
    auto all = std::make_unique<zmq::socket_t>(reader(""));
    ASSERT_TRUE(eventually_wanted(topic::ip));
    ASSERT_TRUE(eventually_wanted(topic::packet));
    all.reset();
    EXPECT_TRUE(eventually([&] { return !out.wanted(topic::ip); }));
    EXPECT_TRUE(out.wanted(topic::packet));
    first.reset();
    second.reset();
    EXPECT_TRUE(eventually([&] { return !out.wanted(topic::packet); }));
}

TEST_F(publisher_and_readers, a_rate_is_one_in_n_slots_and_zero_is_never) {
    auto r = reader("slot");
    ASSERT_TRUE(eventually_wanted(topic::slot));
    out.set_every(topic::slot, 15);
    EXPECT_TRUE(out.due(topic::slot, slot(30)));
    EXPECT_FALSE(out.due(topic::slot, slot(31)));
    out.set_every(topic::slot, 0);
    EXPECT_FALSE(out.due(topic::slot, slot(30)));
}

// Far more than all queues hold is published while one reader sleeps. That this ends is the test
// that the publisher does not wait; the other reader misses nothing.
TEST_F(publisher_and_readers, a_slow_reader_sees_a_gap_and_nobody_waits_for_it) {
    auto asleep = reader("slot", 1);
    auto awake = reader("ip");
    ASSERT_TRUE(eventually_wanted(topic::slot));
    ASSERT_TRUE(eventually_wanted(topic::ip));
    auto& m = out.message(topic::slot);
    m.mutable_slot_sample()->set_outcome(std::string(4000, 'x'));
    constexpr int many = 5000;
    for (int i = 0; i < many; ++i) {
        out.publish(topic::slot, slot(i));
        out.listen();
        if (i % 50 == 0) {
            out.publish(topic::ip, slot(i));
            out.flush();
            ASSERT_TRUE(take(awake, name, got, true));
            EXPECT_EQ(got.sequence(), static_cast<std::uint64_t>(i / 50 + 1));
        }
    }
    std::vector<std::uint64_t> seen;
    while (take(asleep, name, got, false)) seen.push_back(got.sequence());
    ASSERT_FALSE(seen.empty());
    EXPECT_LT(seen.size(), static_cast<std::size_t>(many));
    // Awake again: what comes now has a number that tells how many were missed.
    const auto next = [&] {
        out.publish(topic::slot, slot(many));
        out.flush();
        while (take(asleep, name, got, false)) seen.push_back(got.sequence());
        return seen.back() > static_cast<std::uint64_t>(many);
    };
    ASSERT_TRUE(eventually(next));
    std::uint64_t gap = 0;
    for (std::size_t i = 1; i < seen.size(); ++i) gap = std::max(gap, seen[i] - seen[i - 1] - 1);
    EXPECT_GT(gap, 0U);
}

TEST_F(publisher_and_readers, messages_wait_for_others_to_go_with_but_not_for_long) {
    auto r = reader("slot");
    ASSERT_TRUE(eventually_wanted(topic::slot));
    out.publish(topic::slot, slot(1));
    // With calls of listen() only, one in each slot, the message is sent all the same.
    EXPECT_TRUE(eventually([&] { return take(r, name, got, false); }));
    // With calls of publish() only, the number of messages that are kept back is bounded. The queue
    // holds 20 of them.
    for (int i = 0; i < 200; ++i) out.publish(topic::slot, slot(2 + i));
    EXPECT_TRUE(take(r, name, got, true));
    EXPECT_EQ(got.sequence(), 2U);
}

TEST_F(publisher_and_readers, what_holds_several_slots_goes_with_the_next_call) {
    auto r = reader("");
    ASSERT_TRUE(eventually_wanted(topic::frames));
    out.publish(topic::slot, slot(15));
    out.publish(topic::frames, slot(15));
    out.listen();
    // No other call: what has not gone by now does not come.
    ASSERT_TRUE(take(r, name, got, true));
    EXPECT_EQ(name, "slot");
    ASSERT_TRUE(take(r, name, got, true));
    EXPECT_EQ(name, "frames");
}

TEST_F(publisher_and_readers, a_slot_sends_what_waits_and_every_15th_takes_subscriptions) {
    out.on_slot();  // the first one listens, and nobody is there
    auto r = reader("frames");
    // Long enough for ZeroMQ's thread: the subscription is at the socket, which is not asked.
    std::this_thread::sleep_for(300ms);
    for (int i = 1; i < 15; ++i) {
        out.on_slot();
        EXPECT_FALSE(out.wanted(topic::frames)) << i;
    }
    ASSERT_TRUE(eventually([&] {
        out.on_slot();
        return out.wanted(topic::frames);
    }));
    out.on_slot();
    out.publish(topic::frames, slot(15));
    out.on_slot();
    ASSERT_TRUE(take(r, name, got, true));
    EXPECT_EQ(name, "frames");
}

TEST_F(publisher_and_readers, the_last_messages_go_out_with_the_publisher) {
    const std::string other = endpoint + "2";
    auto last = std::make_unique<telemetry_socket>(context, other, 10, "key");
    zmq::socket_t r(context, zmq::socket_type::sub);
    r.set(zmq::sockopt::linger, 0);
    r.set(zmq::sockopt::subscribe, "slot");
    r.connect(other);
    ASSERT_TRUE(eventually([&] {
        last->listen();
        return last->wanted(topic::slot);
    }));
    last->publish(topic::slot, slot(1));
    last.reset();
    EXPECT_TRUE(take(r, name, got, true));
}

TEST_F(publisher_and_readers, garbage_instead_of_a_subscription_is_counted_and_nothing_else) {
    zmq::socket_t s(context, zmq::socket_type::xsub);
    s.set(zmq::sockopt::linger, 0);
    s.connect(endpoint);
    const auto send = [&](const std::string& text, zmq::send_flags flags = zmq::send_flags::none) {
        s.send(zmq::const_buffer(text.data(), text.size()), flags);
    };
    send(std::string("\x01slotted", 8));  // longer than the name of the topic
    send(std::string("\x01") + std::string(300, 'z'));
    send(std::string("\x02slot", 5));  // neither 0 nor 1
    send("");
    send("slot", zmq::send_flags::sndmore);
    send("two frames");
    ASSERT_TRUE(eventually([&] { return out.malformed_messages() >= 5; }));
    for (std::size_t t = 0; t < nof_topics; ++t) EXPECT_FALSE(out.wanted(static_cast<topic>(t)));
    send(std::string("\x01slot", 5));
    EXPECT_TRUE(eventually_wanted(topic::slot));
    send(std::string("\0never", 6));  // unsubscribes from what it never subscribed to
    send(std::string("\0slot", 5));
    EXPECT_TRUE(eventually([&] { return !out.wanted(topic::slot); }));
}

TEST(telemetry_socket, the_endpoint_in_use_is_named) {
    zmq::context_t context(1);
    const std::string endpoint = "ipc:///nowhere/at/all";
    try {
        telemetry_socket s(context, endpoint, 10, "endpoints.telemetry");
        FAIL();
    } catch (const bad_input& e) {
        EXPECT_NE(std::string(e.what()).find("endpoints.telemetry is " + endpoint),
                  std::string::npos);
    }
}

}  // namespace
}  // namespace wip::host
