// SPDX-License-Identifier: GPL-3.0-or-later
// A line over TCP with keys: who may come, who is turned away and is told so, and that nothing old
// comes when a partner comes back.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <zmq.hpp>

#include "peer/endpoint.h"
#include "peer/peer_link.h"
#include "types/failure.h"

namespace {

using namespace std::chrono_literals;
using namespace wip::peer;
using bytes = std::vector<std::uint8_t>;

// A port that nobody has.
int free_port() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof a;
    ::bind(fd, reinterpret_cast<sockaddr*>(&a), sizeof a);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
    ::close(fd);
    return ntohs(a.sin_port);
}

class CurveLink : public testing::Test {
protected:
    CurveLink() {
        char name[] = "/tmp/curve_link.XXXXXX";
        folder_ = mkdtemp(name);
        make_keys("ours");
        make_keys("others");
    }
    ~CurveLink() override { std::filesystem::remove_all(folder_); }

    // Makes keys as ./openwip keys does.
    void make_keys(const std::string& who) const {
        std::filesystem::create_directory(folder_ + "/" + who);
        for (const std::string end : {"server", "client"}) {
            std::array<char, 41> open{}, secret{};
            zmq_curve_keypair(open.data(), secret.data());
            const std::string file = keys(who) + "/" + end;
            std::ofstream(file + ".key")
                << "public-key: " << open.data() << "\nsecret-key: " << secret.data() << "\n";
            ::chmod((file + ".key").c_str(), 0600);
            std::ofstream(file + ".public") << "public-key: " << open.data() << "\n";
        }
    }
    std::string keys(const std::string& who) const { return folder_ + "/" + who; }
    std::unique_ptr<peer_link> open(end which, const std::string& who) const {
        return make_link({.endpoint = "tcp://127.0.0.1:" + std::to_string(port_),
                          .which = which,
                          .name = "uplink",
                          .silence = 1s,
                          .keys = who.empty() ? "" : keys(who)});
    }
    template <class Condition>
    static bool until(Condition condition, std::vector<peer_link*> ends,
                      std::chrono::milliseconds limit = 3s) {
        for (auto left = limit; left > 0ms; left -= 1ms) {
            for (auto* e : ends) e->watch();
            if (condition()) return true;
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }
    static bool meet(peer_link& a, peer_link& b) {
        return until([&] { return a.connected() && b.connected(); }, {&a, &b});
    }
    // ZeroMQ tells of a connection a moment before it can be used: a word is tried.
    static bool say(const bytes& word, peer_link& from, peer_link& to) {
        std::span<const std::uint8_t> in;
        return until([&] { return !from.receive(in) && from.send(word); }, {&from, &to});
    }
    static bytes take(peer_link& from, peer_link& other) {
        std::span<const std::uint8_t> in;
        bytes found;
        until(
            [&] {
                if (!from.receive(in)) return false;
                found.assign(in.begin(), in.end());
                return true;
            },
            {&from, &other});
        return found;
    }
    std::string refusal(const std::string& folder, end which) const {
        try {
            make_link({.endpoint = "tcp://127.0.0.1:" + std::to_string(port_),
                       .which = which,
                       .name = "uplink",
                       .keys = folder});
        } catch (const wip::bad_input& e) {
            return e.what();
        }
        return {};
    }

    std::string folder_;
    int port_ = free_port();
};

TEST_F(CurveLink, WithTheKeysMessagesGoBothWays) {
    const auto b = open(end::connect, "ours");
    std::this_thread::sleep_for(20ms);  // the connecting end may be first
    const auto a = open(end::bind, "ours");
    ASSERT_TRUE(meet(*a, *b));
    ASSERT_TRUE(say(bytes{3}, *b, *a));  // the connecting end speaks first
    EXPECT_EQ(take(*a, *b), (bytes{3}));
    ASSERT_TRUE(say(bytes{1, 2}, *a, *b));
    EXPECT_EQ(take(*b, *a), (bytes{1, 2}));
    EXPECT_EQ(a->refusal + b->refusal, "");
}

TEST_F(CurveLink, WhoHasAnotherKeyOrNoneIsTurnedAwayAndTheRightOneComesIn) {
    // Another client's key, but this server's public one: turned away by the door.
    std::filesystem::copy_file(keys("ours") + "/server.public", keys("others") + "/server.public",
                               std::filesystem::copy_options::overwrite_existing);
    const auto a = open(end::bind, "ours");
    for (const std::string who : {"others", ""}) {
        const auto stranger = open(end::connect, who);
        EXPECT_FALSE(until([&] { return a->connected() || stranger->connected(); },
                           {a.get(), stranger.get()}, 300ms));
        EXPECT_NE(stranger->refusal, "") << who;
        EXPECT_FALSE(stranger->send(bytes{1}));
    }
    EXPECT_NE(a->refusal.find("127.0.0.1 has another key"), std::string::npos) << a->refusal;
    const auto b = open(end::connect, "ours");
    ASSERT_TRUE(meet(*a, *b));
    ASSERT_TRUE(say(bytes{7}, *b, *a));
    EXPECT_EQ(take(*a, *b), (bytes{7}));
}

TEST_F(CurveLink, AServerWithAnotherKeyIsNotSpokenTo) {
    const auto a = open(end::bind, "others");
    const auto b = open(end::connect, "ours");
    EXPECT_FALSE(
        until([&] { return a->connected() || b->connected(); }, {a.get(), b.get()}, 300ms));
    EXPECT_NE(b->refusal, "");
}

TEST_F(CurveLink, EitherEndComesBackAndHearsNothingOld) {
    auto a = open(end::bind, "ours");
    auto b = open(end::connect, "ours");
    ASSERT_TRUE(meet(*a, *b));
    a.reset();
    ASSERT_TRUE(until([&] { return !b->connected(); }, {b.get()}));
    for (std::uint8_t i = 0; i < 100; ++i) EXPECT_FALSE(b->send(bytes{i}));
    a = open(end::bind, "ours");
    ASSERT_TRUE(meet(*a, *b));
    ASSERT_TRUE(say(bytes{200}, *b, *a));
    EXPECT_EQ(take(*a, *b), (bytes{200}));
    b.reset();
    ASSERT_TRUE(until([&] { return !a->connected(); }, {a.get()}));
    for (std::uint8_t i = 0; i < 100; ++i) EXPECT_FALSE(a->send(bytes{i}));
    b = open(end::connect, "ours");
    ASSERT_TRUE(meet(*a, *b));
    ASSERT_TRUE(say(bytes{202}, *b, *a));
    EXPECT_EQ(take(*a, *b), (bytes{202}));
    ASSERT_TRUE(say(bytes{201}, *a, *b));
    EXPECT_EQ(take(*b, *a), (bytes{201}));
}

TEST_F(CurveLink, WordsOfAPartnerWhoIsGoneAreHeardAndDoNotBringHimBack) {
    for (const bool was_heard : {true, false}) {
        const auto a = open(end::bind, "ours");
        auto b = open(end::connect, "ours");
        ASSERT_TRUE(meet(*a, *b));
        if (was_heard) {
            ASSERT_TRUE(say(bytes{100}, *b, *a));
            EXPECT_EQ(take(*a, *b), (bytes{100}));
        }
        for (std::uint8_t i = 0; i < 100; ++i) ASSERT_TRUE(say(bytes{i}, *b, *b));
        b.reset();
        ASSERT_TRUE(until([&] { return !a->connected(); }, {a.get()}));
        std::span<const std::uint8_t> in;
        for (std::uint8_t i = 0; i < 100; ++i) {
            ASSERT_TRUE(a->receive(in));
            EXPECT_EQ(in[0], i);
            EXPECT_FALSE(a->connected());
        }
        b = open(end::connect, "ours");
        ASSERT_TRUE(meet(*a, *b));
        ASSERT_TRUE(say(bytes{200}, *b, *a));
        EXPECT_EQ(take(*a, *b), (bytes{200}));
        ASSERT_TRUE(say(bytes{201}, *a, *b));
        EXPECT_EQ(take(*b, *a), (bytes{201}));
        EXPECT_EQ(a->malformed_messages, 0U);
    }
}

// The same key twice: the first connection keeps its place. The second one gets an error that says
// so, and is accepted as soon as the first one is gone.
TEST_F(CurveLink, ASecondPartnerWithTheSameKeyIsToldThatTheLineIsOccupiedAndComesInAfterTheFirst) {
    const auto a = open(end::bind, "ours");
    auto b = open(end::connect, "ours");
    ASSERT_TRUE(meet(*a, *b));
    ASSERT_TRUE(say(bytes{1}, *b, *a));
    EXPECT_EQ(take(*a, *b), (bytes{1}));

    const auto second = open(end::connect, "ours");
    std::span<const std::uint8_t> in;
    const auto all_speak = [&] {
        second->send(bytes{66});
        if (b) b->send(bytes{2});
        while (a->receive(in)) EXPECT_EQ(in[0], 2);
        while (second->receive(in)) ADD_FAILURE() << "nothing is for him";
        return second->occupied > 0;
    };
    EXPECT_TRUE(until(all_speak, {a.get(), b.get(), second.get()}));
    EXPECT_EQ(a->occupied, 1U);
    EXPECT_NE(a->refusal.find("127.0.0.1"), std::string::npos) << a->refusal;
    EXPECT_NE(second->refusal, "");
    EXPECT_FALSE(second->connected());
    EXPECT_FALSE(second->send(bytes{66})) << "what is said meanwhile is not lost unseen";
    EXPECT_TRUE(a->connected() && b->connected());
    ASSERT_TRUE(say(bytes{3}, *a, *b));
    EXPECT_EQ(take(*b, *a), (bytes{3}));
    while (a->receive(in)) {
    }

    b.reset();
    const auto is_in = [&] {
        second->send(bytes{67});
        while (a->receive(in)) {
        }
        while (second->receive(in)) {
        }
        return a->send(bytes{4}) && second->connected();
    };
    EXPECT_TRUE(until(is_in, {a.get(), second.get()}, 1s));
    EXPECT_EQ(second->occupied, 1U);
}

// His old connection is not seen to be dead yet: nobody speaks over it any more.
TEST_F(CurveLink, OneWhoComesBackBeforeHisOldConnectionIsSeenToBeDeadIsNotRefused) {
    const auto a = open(end::bind, "ours");
    const pid_t child = ::fork();
    if (child == 0) {
        const auto old = open(end::connect, "ours");
        for (;;) old->send(bytes{1}), std::this_thread::sleep_for(1ms);
    }
    std::span<const std::uint8_t> in;
    ASSERT_TRUE(until([&] { return a->receive(in); }, {a.get()}));
    // stopped like a machine that lost its power: nothing closes the connection
    ::kill(child, SIGSTOP);
    while (a->receive(in)) {
    }
    const auto again = open(end::connect, "ours");
    const auto is_in = [&] {
        again->send(bytes{2});
        bool heard = false;
        while (a->receive(in)) heard = in[0] == 2;
        return heard;
    };
    EXPECT_TRUE(until(is_in, {a.get(), again.get()}));
    EXPECT_EQ(again->occupied + a->occupied, 0U);
    EXPECT_TRUE(again->connected());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST_F(CurveLink, WhatIsNoKeyIsRefusedInOneLine) {
    EXPECT_NE(refusal(folder_ + "/none", end::bind).find("/none/server.key: No such file"),
              std::string::npos);
    ::chmod((keys("ours") + "/client.key").c_str(), 0644);
    EXPECT_NE(refusal(keys("ours"), end::connect).find("others may read it"), std::string::npos);
    std::ofstream(keys("others") + "/client.public") << "public-key: short\n";
    EXPECT_NE(refusal(keys("others"), end::bind).find("client.public: is no key file"),
              std::string::npos);
}

}  // namespace
