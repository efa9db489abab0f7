// SPDX-License-Identifier: GPL-3.0-or-later
// A split connection between two pairs of TCP sockets on this machine: what one end does the other
// one gets. The proxy around it, and packets that pass it: tests/system/test_split_tcp.py.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "split/split_connection.h"

namespace wip::split {
namespace {

constexpr std::size_t bound = 4096;  // bytes of a buffer

struct tcp_pair {
    descriptor near, far;  // near: the proxy's end
    tcp_pair() {
        descriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof a;
        auto* any = reinterpret_cast<sockaddr*>(&a);
        EXPECT_EQ(::bind(listener.get(), any, size), 0);
        EXPECT_EQ(::listen(listener.get(), 1), 0);
        EXPECT_EQ(::getsockname(listener.get(), any, &size), 0);
        far = descriptor(::socket(AF_INET, SOCK_STREAM, 0));
        EXPECT_EQ(::connect(far.get(), any, size), 0);
        near = descriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
        EXPECT_TRUE(near.valid());
    }
};

struct SplitConnection : ::testing::Test {
    tcp_pair a, b;
    int opener = a.far.get(), other = b.far.get();
    split_connection c{std::move(a.near), std::move(b.near), bound};

    // Handles sockets that are ready, until none is.
    void settle() {
        for (bool moved = true; moved && !c.over();) {
            moved = false;
            for (const side s : {side::opener, side::other}) {
                if (c.over()) break;
                pollfd p{c.fd(s), static_cast<short>(c.waits_for(s)), 0};
                if (c.waits_for(s) == 0 || ::poll(&p, 1, 5) <= 0) continue;
                c.on_ready(s, static_cast<std::uint32_t>(p.revents));
                moved = true;
            }
        }
    }
    static void send(int fd, const std::string& text) {
        ASSERT_EQ(::send(fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    }
    // The bytes that are there, and "." for the end.
    static std::string take(int fd) {
        std::string text(1 << 20, '\0');
        const auto n = ::recv(fd, text.data(), text.size(), MSG_DONTWAIT);
        if (n < 0) return errno == ECONNRESET ? "reset" : "nothing";
        if (n == 0) return ".";
        text.resize(static_cast<std::size_t>(n));
        return text;
    }
    // The opener sends, and the other end reads nothing, until nothing moves any more. Returns what
    // was sent.
    std::string fill() {
        const int little = 65536;
        for (const int fd : {opener, other, c.fd(side::opener), c.fd(side::other)})
            for (const int option : {SO_SNDBUF, SO_RCVBUF})
                ::setsockopt(fd, SOL_SOCKET, option, &little, sizeof little);
        ::fcntl(opener, F_SETFL, O_NONBLOCK);
        std::string all;
        for (int turn = 0; turn < 20000; ++turn) {
            const std::string part(1000, static_cast<char>('a' + turn % 26));
            const auto n = ::send(opener, part.data(), part.size(), 0);
            if (n > 0) all += part.substr(0, static_cast<std::size_t>(n));
            if (n < 0 && c.counts(side::opener).held == bound) break;
            c.on_ready(side::opener, EPOLLIN);
        }
        return all;
    }
    // The bytes that the far kernel has not acknowledged to the proxy's socket.
    std::uint64_t queued(side s) const {
        int n = 0;
        EXPECT_EQ(::ioctl(c.fd(s), SIOCOUTQ, &n), 0);
        return static_cast<std::uint64_t>(n);
    }
    static void reset(descriptor& d) {
        const linger l{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(d.get(), SOL_SOCKET, SO_LINGER, &l, sizeof l);
        d.close();
    }
};

TEST_F(SplitConnection, CarriesBytesBothWays) {
    send(opener, "there");
    send(other, "back");
    settle();
    EXPECT_EQ(take(other), "there");
    EXPECT_EQ(take(opener), "back");
    EXPECT_EQ(c.now(), split_connection::state::open);
    EXPECT_EQ(c.counts(side::opener).out, 5U);
    EXPECT_EQ(c.counts(side::other).out, 4U);
}

TEST_F(SplitConnection, AnEndPassesOnAndTheOtherDirectionGoesOn) {
    send(opener, "last");
    ::shutdown(opener, SHUT_WR);
    settle();
    EXPECT_EQ(take(other), "last");
    EXPECT_EQ(take(other), ".");
    EXPECT_FALSE(c.over());
    send(other, "answer");
    settle();
    EXPECT_EQ(take(opener), "answer");
    ::shutdown(other, SHUT_WR);
    settle();
    EXPECT_EQ(take(opener), ".");
    EXPECT_EQ(c.now(), split_connection::state::ended);
}

TEST_F(SplitConnection, WhatIsHeldIsBoundedAndNothingMoreIsReadUntilItHasLeft) {
    settle();
    const std::string all = fill();
    EXPECT_EQ(c.counts(side::opener).held, bound);
    EXPECT_EQ(c.counts(side::opener).most_held, bound);
    EXPECT_EQ(c.waits_for(side::opener) & EPOLLIN, 0U);
    EXPECT_NE(c.waits_for(side::other) & EPOLLOUT, 0U);
    ::shutdown(opener, SHUT_WR);
    std::string got;
    std::string part;
    for (int turn = 0; turn < 20000 && part != "." && part != "reset"; ++turn) {
        settle();
        part = take(other);
        if (part != "nothing" && part != "." && part != "reset") got += part;
    }
    EXPECT_EQ(part, ".");
    EXPECT_TRUE(got == all) << got.size() << " of " << all.size();
    EXPECT_EQ(c.counts(side::opener).lost, 0U);
}

TEST_F(SplitConnection, AResetPassesOnAndWhatWasHeldIsLost) {
    settle();
    fill();
    const way_counts before = c.counts(side::opener);
    const std::uint64_t unacknowledged = queued(side::other);
    ASSERT_EQ(before.held, bound);
    ASSERT_GT(unacknowledged, 0U);
    reset(b.far);
    settle();
    EXPECT_EQ(c.now(), split_connection::state::reset);
    EXPECT_EQ(take(opener), "reset");
    const way_counts w = c.counts(side::opener);
    EXPECT_EQ(w.in, before.in);
    EXPECT_EQ(w.held, 0U);
    EXPECT_EQ(w.lost, before.held + unacknowledged);
    EXPECT_EQ(w.out, before.out - unacknowledged);
}

TEST_F(SplitConnection, WhatWasAcknowledgedBeforeAResetWasNotLostAndAFinIsNoByte) {
    settle();
    send(opener, "there");
    ::shutdown(opener, SHUT_WR);
    settle();
    EXPECT_EQ(take(other), "there");
    EXPECT_EQ(take(other), ".");
    reset(b.far);
    settle();
    ASSERT_EQ(c.now(), split_connection::state::reset);
    EXPECT_EQ(c.counts(side::opener).out, 5U);
    EXPECT_EQ(c.counts(side::opener).lost, 0U);
}

TEST_F(SplitConnection, ThatCannotGoOnResetsBothEnds) {
    settle();
    c.abandon();
    EXPECT_EQ(c.now(), split_connection::state::reset);
    EXPECT_EQ(take(opener), "reset");
    EXPECT_EQ(take(other), "reset");
}

TEST_F(SplitConnection, OneThatGoesAwayResetsBothEnds) {
    settle();
    { const split_connection gone = std::move(c); }
    EXPECT_EQ(take(opener), "reset");
    EXPECT_EQ(take(other), "reset");
}

TEST(ByteRing, KeepsTheOrderAcrossItsEnd) {
    byte_ring ring(5);
    std::string out;
    char next = 'a';
    for (int turn = 0; turn < 40; ++turn) {
        std::size_t n = 0;
        for (const auto& piece : ring.to_fill())
            for (std::size_t i = 0; i < piece.iov_len && n < 3; ++i, ++n)
                static_cast<char*>(piece.iov_base)[i] = next == 'z' ? (next = 'a', 'z') : next++;
        ring.filled(n);
        n = 0;
        for (const auto& piece : ring.to_take())
            for (std::size_t i = 0; i < piece.iov_len && n < 2; ++i, ++n)
                out += static_cast<const char*>(piece.iov_base)[i];
        ring.taken(n);
    }
    for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], static_cast<char>('a' + i % 26));
    EXPECT_EQ(ring.most(), 5U);
}

}  // namespace
}  // namespace wip::split
