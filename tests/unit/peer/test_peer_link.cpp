// SPDX-License-Identifier: GPL-3.0-or-later
// Both kinds of link between two ends: connection, messages, wake-ups, death, restart, strangers.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "peer/endpoint.h"
#include "peer/peer_link.h"

namespace {

using namespace std::chrono_literals;
using namespace wip::peer;
using bytes = std::vector<std::uint8_t>;

class peer_link_over : public testing::TestWithParam<const char*> {
protected:
    peer_link_over() {
        char name[] = "/tmp/peer_link.XXXXXX";
        folder_ = mkdtemp(name);
    }
    ~peer_link_over() override { std::filesystem::remove_all(folder_); }

    std::string path() const { return folder_ + "/line"; }
    std::string endpoint() const { return std::string(GetParam()) + "://" + path(); }
    std::unique_ptr<peer_link> open(end which, std::chrono::milliseconds silence = 0ms) {
        return make_link(
            {.endpoint = endpoint(), .which = which, .name = "line", .silence = silence});
    }
    // Each end looks after its connection until the condition holds.
    static bool until(const std::function<bool()>& condition, std::vector<peer_link*> ends,
                      std::chrono::milliseconds limit = 5s) {
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
    static bytes take(peer_link& from) {
        std::span<const std::uint8_t> in;
        for (int i = 0; i < 2000; ++i) {
            if (from.receive(in)) return {in.begin(), in.end()};
            from.watch();
            std::this_thread::sleep_for(1ms);
        }
        ADD_FAILURE() << "no message";
        return {};
    }
    // Sleeps as macd and the flowgraph do. True when there was something.
    static bool sleep(peer_link& link, int ms) {
        if (!link.rest()) {
            link.rise(false);
            return true;
        }
        pollfd p[] = {{link.message_fd(), POLLIN, 0}, {link.connection_fd(), POLLIN, 0}};
        const int ready = ::poll(p, 2, ms);
        link.rise(p[0].revents != 0);
        if (p[1].revents != 0) link.watch();
        return ready > 0;
    }

    std::string folder_;
};

TEST_P(peer_link_over, messages_go_both_ways_whole_and_in_order) {
    const auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    for (std::uint8_t i = 0; i < 100; ++i) {
        ASSERT_TRUE(a->send(bytes(i * 37u, i)));
        ASSERT_TRUE(b->send(bytes(i, i)));
    }
    for (std::uint8_t i = 0; i < 100; ++i) {
        EXPECT_EQ(take(*b), bytes(i * 37u, i));
        EXPECT_EQ(take(*a), bytes(i, i));
    }
    EXPECT_EQ(a->malformed_messages + b->malformed_messages, 0U);
}

TEST_P(peer_link_over, the_connecting_end_may_be_first) {
    const auto b = open(end::connect);
    std::this_thread::sleep_for(30ms);
    const auto a = open(end::bind);
    EXPECT_TRUE(meet(*a, *b));
}

TEST_P(peer_link_over, a_sleeper_is_woken_by_a_message_and_by_nothing_else) {
    const auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    std::span<const std::uint8_t> in;
    while (sleep(*a, 100)) {  // events that are left from the beginning of the connection
        while (a->receive(in)) {
        }
        a->watch();
    }
    EXPECT_FALSE(sleep(*a, 50));
    std::thread other([&] {
        std::this_thread::sleep_for(20ms);
        b->send(bytes(10));
    });
    while (!a->receive(in)) ASSERT_TRUE(sleep(*a, 3000));
    other.join();
    EXPECT_EQ(in.size(), 10U);
}

TEST_P(peer_link_over, ten_thousand_turns_lose_no_wake_up) {
    const auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    constexpr int turns = 10000;
    const auto echo = [](peer_link& link, bool first) {
        std::span<const std::uint8_t> in;
        if (first) link.send(bytes(8));
        for (int i = 0; i < turns;) {
            if (!link.receive(in)) {
                if (!sleep(link, 5000)) return false;
                continue;
            }
            ++i;
            if (!first || i < turns) link.send({in.data(), in.size()});
        }
        return true;
    };
    bool answered = false;
    std::thread other([&] { answered = echo(*b, false); });
    EXPECT_TRUE(echo(*a, true));
    other.join();
    EXPECT_TRUE(answered);
}

TEST_P(peer_link_over, a_killed_process_is_seen_at_once_and_its_last_words_are_there) {
    const pid_t child = fork();
    if (child == 0) {
        const auto b = open(end::connect);
        until([&] { return b->connected(); }, {b.get()});
        b->send(bytes{1, 2, 3});
        std::this_thread::sleep_for(200ms);  // ZeroMQ sends from another thread
        raise(SIGKILL);
    }
    const auto a = open(end::bind);
    bool lost = false;
    EXPECT_TRUE(until([&] { return a->connected(); }, {a.get()}));
    for (int i = 0; i < 5000 && !lost; ++i) {
        lost = a->watch();
        std::this_thread::sleep_for(1ms);
    }
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(lost);
    EXPECT_FALSE(a->connected());
    EXPECT_EQ(take(*a), (bytes{1, 2, 3}));
}

TEST_P(peer_link_over, either_end_may_restart) {
    auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    b.reset();
    EXPECT_TRUE(until([&] { return !a->connected(); }, {a.get()}));
    std::span<const std::uint8_t> in;
    EXPECT_FALSE(a->receive(in));
    b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    EXPECT_TRUE(b->send(bytes(5)));
    EXPECT_EQ(take(*a).size(), 5U);
    a.reset();
    EXPECT_TRUE(until([&] { return !b->connected(); }, {b.get()}));
    EXPECT_FALSE(b->receive(in));
    a = open(end::bind);
    ASSERT_TRUE(meet(*a, *b));
    EXPECT_TRUE(a->send(bytes(6)));
    EXPECT_EQ(take(*b).size(), 6U);
}

// A process may be busy with other things when its partner dies, and find the next one there when
// it looks again.
TEST_P(peer_link_over, a_partner_who_is_back_before_the_other_end_has_read_is_heard) {
    auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    for (std::uint8_t turn = 1; turn <= 3; ++turn) {
        b.reset();
        std::this_thread::sleep_for(50ms);
        b = open(end::connect);
        std::this_thread::sleep_for(50ms);
        ASSERT_TRUE(meet(*a, *b));
        EXPECT_TRUE(b->send(bytes{turn}));
        EXPECT_EQ(take(*a), (bytes{turn}));
        EXPECT_TRUE(a->send(bytes{turn, turn}));
        EXPECT_EQ(take(*b), (bytes{turn, turn}));
    }
}

// The loop of macd receives before it looks after connections.
TEST_P(peer_link_over, a_partner_who_is_back_is_heard_by_one_who_receives_first) {
    auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    for (std::uint8_t turn = 1; turn <= 3; ++turn) {
        b.reset();
        std::this_thread::sleep_for(50ms);
        b = open(end::connect);
        bool sent = false, lost = false;
        const auto speak = [&] {
            lost |= b->watch();
            sent = sent || b->send(bytes{turn});
            std::this_thread::sleep_for(1ms);
        };
        // Over ZeroMQ all that it says is there before the other end looks.
        for (int i = 0; i < 100; ++i) speak();
        std::span<const std::uint8_t> in;
        bytes heard;
        for (int i = 0; i < 5000 && heard.empty(); ++i) {
            if (a->receive(in)) heard.assign(in.begin(), in.end());
            a->watch();
            speak();
        }
        EXPECT_EQ(heard, (bytes{turn}));
        EXPECT_TRUE(a->connected() && b->connected());
        EXPECT_FALSE(lost);
        EXPECT_TRUE(a->send(bytes{turn, turn}));
        EXPECT_EQ(take(*b), (bytes{turn, turn}));
        EXPECT_EQ(a->malformed_messages + b->malformed_messages, 0U);
    }
}

TEST_P(peer_link_over, a_second_partner_is_turned_away) {
    const auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    const auto c = open(end::connect);
    EXPECT_FALSE(
        until([&] { return c->connected() && c->send(bytes(1)) && a->malformed_messages > 99; },
              {a.get(), c.get()}, 100ms));
    EXPECT_TRUE(b->send(bytes(4)));
    EXPECT_EQ(take(*a).size(), 4U);
}

TEST_P(peer_link_over, a_flood_is_refused_when_the_queue_is_full_and_loses_nothing_before) {
    const auto a = open(end::bind), b = open(end::connect);
    ASSERT_TRUE(meet(*a, *b));
    std::uint32_t sent = 0;
    for (; sent < 200000; ++sent) {
        bytes m(2000);
        std::memcpy(m.data(), &sent, sizeof sent);
        if (!b->send(m)) break;
    }
    EXPECT_GT(sent, 200U);
    EXPECT_LT(sent, 200000U);
    for (std::uint32_t i = 0; i < sent; ++i) {
        std::uint32_t number = 0;
        std::memcpy(&number, take(*a).data(), sizeof number);
        ASSERT_EQ(number, i);
    }
    EXPECT_TRUE(b->send(bytes(3)));
    EXPECT_EQ(take(*a).size(), 3U);
}

TEST_P(peer_link_over, a_stopped_process_is_silent_and_one_that_only_waits_is_not) {
    const auto a = open(end::bind, 300ms);
    const pid_t child = fork();
    if (child == 0) {
        const auto b = open(end::connect);
        std::span<const std::uint8_t> in;
        for (int i = 0;; ++i) {
            while (b->receive(in)) {
                const bytes word(in.begin(), in.end());
                if (word == bytes{1}) raise(SIGSTOP);
            }
            sleep(*b, 50);
            b->watch();
        }
    }
    ASSERT_TRUE(until([&] { return a->connected(); }, {a.get()}));
    bool lost = false;
    const auto wait = [&](int ms) {
        std::span<const std::uint8_t> in;
        for (int i = 0; i < ms && !lost; ++i) {
            (void)a->receive(in);
            lost = a->watch();
            std::this_thread::sleep_for(1ms);
        }
    };
    wait(1000);
    EXPECT_FALSE(lost);
    EXPECT_TRUE(a->send(bytes{1}));
    wait(5000);
    EXPECT_TRUE(lost);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
}

TEST_P(peer_link_over, what_cannot_be_opened_says_why) {
    const auto a = open(end::bind);
    const auto why = [&](const std::string& endpoint, end which) -> std::string {
        try {
            make_link({.endpoint = endpoint, .which = which, .name = "line"});
        } catch (const std::exception& e) {
            return e.what();
        }
        return "";
    };
    const std::string scheme = std::string(GetParam()) + "://";
    EXPECT_NE(why(endpoint(), end::bind).find("another process listens there"), std::string::npos);
    EXPECT_NE(why(scheme + folder_, end::bind).find("a file of this name that is no socket"),
              std::string::npos);
    EXPECT_NE(why(scheme + folder_ + "/none/line", end::bind).find("there is no folder"),
              std::string::npos);
    EXPECT_NE(why(scheme + std::string(200, 'x'), end::connect).find("endpoints.line"),
              std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(kinds, peer_link_over, testing::Values("ipc", "shm"),
                         [](const auto& kind) { return std::string(kind.param); });

class ring_strangers : public testing::Test {
protected:
    ring_strangers() {
        char name[] = "/tmp/ring_strangers.XXXXXX";
        folder_ = mkdtemp(name);
        path_ = folder_ + "/line";
    }
    ~ring_strangers() override { std::filesystem::remove_all(folder_); }
    int stranger() {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::strcpy(address.sun_path, path_.c_str());
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        EXPECT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        return fd;
    }
    std::string folder_, path_;
};

// A partner that says nothing, or nonsense with descriptors, holds up nobody.
TEST_F(ring_strangers, those_who_do_not_speak_it_do_not_hold_up_the_true_one) {
    const auto a = make_link({.endpoint = "shm://" + path_, .which = end::bind, .name = "line"});
    std::vector<int> silent{stranger(), stranger()};
    for (int i = 0; i < 10; ++i) a->watch();
    const int odd = stranger();
    const char words[] = "GET / HTTP/1.1";
    ASSERT_GT(write(odd, words, sizeof words), 0);
    for (int i = 0; i < 10; ++i) a->watch();
    EXPECT_FALSE(a->connected());
    EXPECT_EQ(a->malformed_messages, 1U);
    const auto b = make_link({.endpoint = "shm://" + path_, .which = end::connect, .name = "line"});
    for (int i = 0; i < 1000 && !(a->connected() && b->connected()); ++i) {
        a->watch();
        b->watch();
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(a->connected() && b->connected());
    for (const int fd : silent) close(fd);
    close(odd);
    a->watch();
    EXPECT_TRUE(a->connected());
}

TEST_F(ring_strangers, the_socket_is_for_its_owner_and_group_and_goes_with_the_link) {
    auto a = make_link({.endpoint = "shm://" + path_, .which = end::bind, .name = "line"});
    // Root without the right to pass over modes connects as a member of the account's group. Any
    // other user of that group is turned away by either end.
    using enum std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(path_).permissions(),
              owner_read | owner_write | group_read | group_write);
    a.reset();
    EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ring_strangers, the_socket_that_a_killed_process_left_is_replaced) {
    const pid_t child = fork();
    if (child == 0) {
        const auto a =
            make_link({.endpoint = "shm://" + path_, .which = end::bind, .name = "line"});
        raise(SIGKILL);
    }
    waitpid(child, nullptr, 0);
    ASSERT_TRUE(std::filesystem::exists(path_));
    EXPECT_NO_THROW(make_link({.endpoint = "shm://" + path_, .which = end::bind, .name = "line"}));
}

// The kernel says whose process the other end is, whatever the mode of the socket lets in.
TEST_F(ring_strangers, another_user_is_turned_away_by_either_end) {
    if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    const auto as_another_user = [this](end which, const std::function<void(peer_link&)>& then) {
        const pid_t child = fork();
        if (child == 0) {
            if (setresuid(65534, 65534, 65534) != 0) _exit(9);
            const auto link =
                make_link({.endpoint = "shm://" + path_, .which = which, .name = "line"});
            then(*link);
            _exit(link->connected() ? 1 : 0);
        }
        return child;
    };
    const auto look = [](peer_link& link) {
        for (int i = 0; i < 200 && !link.connected(); ++i) {
            link.watch();
            std::this_thread::sleep_for(1ms);
        }
    };
    const auto code_of = [](pid_t child) {
        int status = 0;
        waitpid(child, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    {
        auto a = make_link({.endpoint = "shm://" + path_, .which = end::bind, .name = "line"});
        std::filesystem::permissions(path_, std::filesystem::perms::all);
        const pid_t child = as_another_user(end::connect, look);
        look(*a);
        EXPECT_EQ(code_of(child), 0);
        EXPECT_FALSE(a->connected());
        EXPECT_GT(a->malformed_messages, 0U);
    }
    const pid_t child = as_another_user(end::bind, look);
    while (!std::filesystem::exists(path_)) std::this_thread::sleep_for(1ms);
    const auto b = make_link({.endpoint = "shm://" + path_, .which = end::connect, .name = "line"});
    look(*b);
    EXPECT_FALSE(b->connected());
    EXPECT_GT(b->malformed_messages, 0U);
    EXPECT_EQ(code_of(child), 0);
}

}  // namespace
