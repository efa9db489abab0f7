// SPDX-License-Identifier: GPL-3.0-or-later
// The slot link's client against a macd played by the test, over a real socket.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include "slot_link.h"

namespace {

using openwip::slot_link::SlotRequest;
using openwip::slot_link::ToFlowgraph;
using openwip::slot_link::ToMacd;
using wip::slot_link;

class folder {
public:
    folder() {
        char name[] = "/tmp/slot_link.XXXXXX";
        path_ = mkdtemp(name);
    }
    ~folder() { std::filesystem::remove_all(path_); }
    std::string endpoint() const { return "ipc://" + path_ + "/slot"; }

private:
    std::string path_;
};

// macd's end of the link.
class fake_macd {
public:
    explicit fake_macd(const std::string& endpoint) : socket_(context_, zmq::socket_type::pair) {
        socket_.set(zmq::sockopt::linger, 0);
        socket_.set(zmq::sockopt::rcvtimeo, 5000);
        socket_.bind(endpoint);
    }
    void hang_up() { socket_.close(); }
    void leave() {  // what was sent still goes out
        socket_.set(zmq::sockopt::linger, 1000);
        socket_.close();
    }
    void send(const ToFlowgraph& m) { send_bytes(m.SerializeAsString()); }
    void send_bytes(const std::string& bytes) {
        socket_.send(zmq::buffer(bytes), zmq::send_flags::none);
    }
    ToMacd receive() {
        zmq::message_t raw;
        ToMacd m;
        EXPECT_TRUE(socket_.recv(raw));
        EXPECT_TRUE(m.ParseFromArray(raw.data(), static_cast<int>(raw.size())));
        return m;
    }
    void send_plan(std::int64_t air) {
        ToFlowgraph m;
        m.mutable_plan()->set_air(air);
        send(m);
    }

private:
    zmq::context_t context_;
    zmq::socket_t socket_;
};

SlotRequest request(std::int64_t air) {
    SlotRequest r;
    r.set_air(air);
    return r;
}

void poll_until_ended(slot_link& link) {
    for (int i = 0; i < 5000 && !link.ended(); ++i) {
        link.poll();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

TEST(slot_link, says_hello_with_version_and_role_first) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "terminal"});
    const auto hello = macd.receive();
    ASSERT_EQ(hello.what_case(), ToMacd::kHello);
    EXPECT_EQ(hello.hello().version(), 1U);
    EXPECT_EQ(hello.hello().role(), "terminal");
}

TEST(slot_link, returns_the_plan_of_the_slot_that_was_asked_for) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    macd.send_plan(1234);
    const auto* plan = link.exchange(request(1234), nullptr);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->air(), 1234);
    EXPECT_EQ(macd.receive().what_case(), ToMacd::kHello);
    EXPECT_EQ(macd.receive().request().air(), 1234);
}

TEST(slot_link, drops_and_counts_the_plan_of_another_slot) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    macd.send_plan(6);
    macd.send_plan(7);
    const auto* plan = link.exchange(request(7), nullptr);
    ASSERT_NE(plan, nullptr);
    EXPECT_EQ(plan->air(), 7);
    EXPECT_EQ(link.unexpected(), 1U);
}

TEST(slot_link, survives_random_bytes_and_still_finds_the_plan_behind_them) {
    std::mt19937 random(1);
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    // Whole random messages, and the messages of the link with a few bytes changed or cut off.
    // Those that happen to parse as a stop or as another version are not sent: they may end the
    // link.
    ToFlowgraph good;
    good.mutable_plan()->set_air(8);
    good.mutable_plan()->set_grant(std::string(30, '\x55'));
    good.mutable_plan()->add_payload()->set_payload("abcdefgh");
    std::uint64_t bad = 0;
    for (int i = 0; i < 500; ++i) {
        std::string bytes = good.SerializeAsString();
        if (i % 2 == 0) {
            bytes.resize(random() % 200);
            for (auto& c : bytes) c = static_cast<char>(random());
        } else {
            bytes.resize(random() % (bytes.size() + 1));
            if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        ToFlowgraph parsed;
        const bool parses = parsed.ParseFromString(bytes);
        if (parses && (parsed.has_stop() || parsed.has_hello() ||
                       (parsed.has_plan() && parsed.plan().air() == 8)))
            continue;
        bad += !parses || parsed.what_case() == ToFlowgraph::WHAT_NOT_SET;
        macd.send_bytes(bytes);
    }
    macd.send_plan(8);
    ASSERT_NE(link.exchange(request(8), nullptr), nullptr);
    EXPECT_GT(bad, 200U);
    EXPECT_EQ(link.malformed(), bad);
    EXPECT_FALSE(link.ended());
}

TEST(slot_link, ends_with_macds_reason_when_asked_to_stop) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    ToFlowgraph stop;
    stop.set_stop("the terminal died");
    macd.send(stop);
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_EQ(link.end_reason(), "macd asks to stop: the terminal died");
}

TEST(slot_link, takes_macds_last_words_before_the_end_of_its_connection) {
    for (int i = 0; i < 20; ++i) {
        folder f;
        auto macd = std::make_unique<fake_macd>(f.endpoint());
        slot_link link({.endpoint = f.endpoint(), .role = "terminal"});
        macd->receive();
        ToFlowgraph stop;
        stop.set_stop("bye");
        macd->send(stop);
        macd->leave();
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 4));
        poll_until_ended(link);
        EXPECT_EQ(link.end_reason(), "macd asks to stop: bye");
    }
}

TEST(slot_link, ends_when_the_connection_breaks) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "terminal"});
    macd.receive();
    macd.hang_up();
    poll_until_ended(link);
    EXPECT_EQ(link.end_reason(), "macd at " + f.endpoint() + " went away");
}

TEST(slot_link, ends_when_macd_hangs_without_closing_its_connection) {
    folder f;
    const pid_t child = fork();
    if (child == 0) {
        fake_macd macd(f.endpoint());
        macd.receive();
        raise(SIGSTOP);
        _exit(0);
    }
    slot_link link({.endpoint = f.endpoint(), .role = "base", .silence_s = 0.3});
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_EQ(link.end_reason(), "macd at " + f.endpoint() + " went away");
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST(slot_link, ends_when_there_is_no_macd) {
    folder f;
    slot_link link({.endpoint = f.endpoint(), .role = "base", .connect_s = 0.2});
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_NE(link.end_reason().find("no macd at " + f.endpoint()), std::string::npos);
}

TEST(slot_link, ends_when_macd_speaks_another_version) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    ToFlowgraph hello;
    hello.mutable_hello()->set_version(99);
    macd.send(hello);
    EXPECT_EQ(link.exchange(request(1), nullptr), nullptr);
    EXPECT_NE(link.end_reason().find("version 99"), std::string::npos);
}

TEST(slot_link, returns_when_cancelled_and_does_not_ask_twice) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "base"});
    EXPECT_EQ(link.exchange(request(5), [] { return true; }), nullptr);
    EXPECT_FALSE(link.ended());
    macd.send_plan(5);
    EXPECT_NE(link.exchange(request(5), nullptr), nullptr);
    macd.send_plan(6);
    EXPECT_NE(link.exchange(request(6), nullptr), nullptr);
    macd.receive();  // hello
    EXPECT_EQ(macd.receive().request().air(), 5);
    EXPECT_EQ(macd.receive().request().air(), 6);
}

TEST(slot_link, reuses_the_report_without_leftovers) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "terminal"});
    link.report().set_air(1);
    link.report().add_bins()->set_payload("first");
    auto& first = link.report();
    first.set_air(1);
    first.add_bins()->set_payload("first");
    EXPECT_TRUE(link.send_report(nullptr));
    link.report().set_air(2);
    EXPECT_TRUE(link.send_report(nullptr));
    macd.receive();  // hello
    EXPECT_EQ(macd.receive().report().bins_size(), 1);
    const auto second = macd.receive();
    EXPECT_EQ(second.report().air(), 2);
    EXPECT_EQ(second.report().bins_size(), 0);
}

TEST(slot_link, refuses_what_is_no_address_and_times_out_of_range) {
    EXPECT_THROW(slot_link({.endpoint = "nonsense", .role = "base"}), std::invalid_argument);
    EXPECT_THROW(slot_link({.endpoint = "ipc://" + std::string(200, 'x'), .role = "base"}),
                 std::invalid_argument);
    folder f;
    EXPECT_THROW(slot_link({.endpoint = f.endpoint(), .role = "base", .silence_s = 0}),
                 std::invalid_argument);
    EXPECT_THROW(slot_link({.endpoint = f.endpoint(), .role = "base", .connect_s = 1e9}),
                 std::invalid_argument);
}

TEST(slot_link, keeps_how_often_the_detail_is_wanted) {
    folder f;
    fake_macd macd(f.endpoint());
    slot_link link({.endpoint = f.endpoint(), .role = "terminal"});
    macd.receive();
    EXPECT_EQ(link.detail_every(), 0U);
    for (const std::uint32_t every : {150U, 0U}) {
        ToFlowgraph m;
        m.mutable_detail()->set_every(every);
        macd.send(m);
        for (int i = 0; i < 5000 && link.detail_every() != every; ++i) {
            link.poll();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        EXPECT_EQ(link.detail_every(), every);
    }
    EXPECT_EQ(link.malformed(), 0U);
}

}  // namespace
