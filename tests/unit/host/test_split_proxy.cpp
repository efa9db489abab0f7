// SPDX-License-Identifier: GPL-3.0-or-later
// The proxy of split TCP where the kernel or the machine has no more to give. Both its ends have
// the same loopback address, in two network namespaces of this test's own; a rule that hands
// packets over: tests/system/test_split_tcp.py.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "config/schema.h"
#include "split/proxy.h"
#include "split/split_config.h"

namespace wip::split {
namespace {

constexpr std::uint16_t port = 5001;

// Sets a limit of this process, which is as before afterwards.
class limit {
public:
    limit(__rlimit_resource which, rlim_t soft) : which_(which) {
        EXPECT_EQ(::getrlimit(which_, &before_), 0);
        const rlimit now{soft, before_.rlim_max};
        EXPECT_EQ(::setrlimit(which_, &now), 0);
    }
    limit(const limit&) = delete;
    limit& operator=(const limit&) = delete;
    ~limit() { ::setrlimit(which_, &before_); }

private:
    __rlimit_resource which_;
    rlimit before_{};
};

// The lowest number that none has: the next one that is made gets it.
rlim_t next_descriptor() { return static_cast<rlim_t>(descriptor(::dup(0)).get()); }

struct SplitProxy : ::testing::Test {
    descriptor home, near, there;  // descriptors of the namespaces
    std::vector<descriptor> openers;
    descriptor answering;

    static descriptor space() {
        return descriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    }
    static descriptor new_space() {
        EXPECT_EQ(::unshare(CLONE_NEWNET), 0);
        const descriptor s(::socket(AF_INET, SOCK_DGRAM, 0));
        ifreq r{};
        r.ifr_name[0] = 'l', r.ifr_name[1] = 'o';
        r.ifr_flags = IFF_UP | IFF_RUNNING | IFF_LOOPBACK;
        EXPECT_EQ(::ioctl(s.get(), SIOCSIFFLAGS, &r), 0);
        return space();
    }
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "needs root";
        home = space();
        there = new_space();
        answering = bound();
        ASSERT_EQ(::listen(answering.get(), 100), 0);
        near = new_space();
    }
    void TearDown() override {
        if (!home.valid()) return;
        ASSERT_EQ(::setns(home.get(), CLONE_NEWNET), 0);
    }
    static sockaddr_in address() {
        sockaddr_in a{};
        a.sin_family = AF_INET;
        a.sin_port = htons(port);
        a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return a;
    }
    static descriptor bound() {
        descriptor s(::socket(AF_INET, SOCK_STREAM, 0));
        const int on = 1;
        ::setsockopt(s.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        const auto a = address();
        EXPECT_EQ(::bind(s.get(), reinterpret_cast<const sockaddr*>(&a), sizeof a), 0);
        return s;
    }
    proxy_config config(int connections = 8) const {
        return {.ports = {port},
                .transparent = false,
                .connect_namespace = there.get(),
                .buffer_bytes = 4096,
                .connections = connections};
    }
    // Opens a connection. Returns whether anything listened, which is known at once on the
    // loopback.
    bool open() {
        openers.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
        const auto a = address();
        return ::connect(openers.back().get(), reinterpret_cast<const sockaddr*>(&a), sizeof a) ==
               0;
    }
    static bool was_reset(const descriptor& d) {
        char c = 0;
        return ::recv(d.get(), &c, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET;
    }
    // Works until there is nothing to do; false: there always is.
    static bool settles(proxy& p) {
        for (int turn = 0; turn < 100; ++turn) {
            p.work();
            pollfd ready{p.fd(), POLLIN, 0};
            if (::poll(&ready, 1, 10) == 0) return true;
        }
        return false;
    }
};

TEST_F(SplitProxy, OutOfDescriptorsItStopsToListenUntilAConnectionHasEnded) {
    proxy p(config());
    ASSERT_TRUE(open());
    ASSERT_TRUE(settles(p));
    ASSERT_EQ(p.counts().open, 1U);
    ASSERT_TRUE(open());
    {
        const limit none(RLIMIT_NOFILE, next_descriptor());
        EXPECT_TRUE(settles(p)) << "a busy loop";
    }
    EXPECT_EQ(p.counts().full, 1U);
    EXPECT_EQ(p.counts().split, 1U);
    EXPECT_FALSE(open()) << "it listens, and cannot take";
    ASSERT_TRUE(settles(p));
    EXPECT_FALSE(open()) << "no connection has ended";
    openers[0].close();
    answering.close();  // the other end is reset
    ASSERT_TRUE(settles(p));
    EXPECT_EQ(p.counts().open, 0U);
    EXPECT_TRUE(open());
}

TEST_F(SplitProxy, OutOfDescriptorsForTheSecondHalfTheOpenerIsResetAndTheOthersLive) {
    proxy p(config());
    ASSERT_TRUE(open());
    ASSERT_TRUE(settles(p));
    ASSERT_TRUE(open());
    {
        const limit one(RLIMIT_NOFILE, next_descriptor() + 1);
        EXPECT_TRUE(settles(p));
    }
    EXPECT_TRUE(was_reset(openers[1]));
    EXPECT_FALSE(was_reset(openers[0]));
    const proxy_counts c = p.counts();
    EXPECT_EQ(c.not_reached, 1U);
    EXPECT_EQ(c.full, 1U);
    EXPECT_EQ(c.split, c.open + c.ended + c.reset + c.not_reached);
}

TEST_F(SplitProxy, WithoutMemoryForAConnectionItsOpenerIsResetAndTheOthersLive) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitiser's allocator ends the program instead";
#endif
    proxy_config big = config();
    big.buffer_bytes = 256 << 20;
    proxy p(big);
    ASSERT_TRUE(open());
    ASSERT_TRUE(settles(p));
    ASSERT_TRUE(open());
    {
        std::ifstream statm("/proc/self/statm");
        rlim_t pages = 0;
        statm >> pages;
        const limit memory(RLIMIT_AS, (pages << 12) + (64U << 20));
        EXPECT_TRUE(settles(p));
    }
    EXPECT_TRUE(was_reset(openers[1]));
    EXPECT_FALSE(was_reset(openers[0]));
    EXPECT_EQ(p.counts().open, 1U);
    EXPECT_EQ(p.counts().not_reached, 1U);
}

TEST_F(SplitProxy, AtItsLimitWhatIsTakenOverItIsBoundedAndItListensAgainBelowSevenEighths) {
    proxy p(config(8));
    for (int n = 0; n < 12; ++n) ASSERT_TRUE(open());
    ASSERT_TRUE(settles(p));
    EXPECT_EQ(p.counts().open, 12U);  // four more from the backlog
    EXPECT_EQ(p.counts().full, 1U);
    const auto end_one = [&] {
        const int fd = openers[0].get();
        const linger l{.l_onoff = 1, .l_linger = 0};
        ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
        openers.erase(openers.begin());
        return settles(p);
    };
    while (p.counts().open > 7) ASSERT_TRUE(end_one());
    EXPECT_FALSE(open()) << "room for one, and the next would end it";
    openers.pop_back();
    ASSERT_TRUE(end_one());
    EXPECT_TRUE(open());
    EXPECT_EQ(p.counts().full, 1U);
}

TEST_F(SplitProxy, ThatCannotListenAgainTriesWhenTheNextConnectionHasEnded) {
    proxy p(config(2));
    ASSERT_TRUE(open());
    ASSERT_TRUE(open());
    ASSERT_TRUE(settles(p));
    ASSERT_EQ(p.counts().full, 1U);
    descriptor in_the_way = bound();
    ASSERT_EQ(::listen(in_the_way.get(), 1), 0);
    openers[0].close();
    const auto end_other = [&] {
        descriptor d(::accept(answering.get(), nullptr, nullptr));
        ASSERT_TRUE(d.valid());
    };
    end_other(), end_other();
    ASSERT_TRUE(settles(p));
    EXPECT_EQ(p.counts().open, 1U);
    EXPECT_EQ(p.counts().full, 2U);
    in_the_way.close();
    ASSERT_TRUE(settles(p));
    EXPECT_FALSE(open());
    openers[1].close();
    ASSERT_TRUE(settles(p));
    EXPECT_TRUE(open());
}

std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::exception& e) {
        return e.what();
    }
    return "";
}

TEST_F(SplitProxy, MoreDescriptorsThanTheHardLimitAreRefusedWithTheValue) {
    rlimit now{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    const rlimit lower{64, now.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
    { const proxy p(config(100)); }
    rlimit raised{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
    EXPECT_GE(raised.rlim_cur, 2 * 100U + 16 + 32);
    // Above what any system has (fs.nr_open), to which root may raise its own.
    const std::string reported = refusal([&] { const proxy p(config(1 << 29)); });
    EXPECT_EQ(reported.find("split_tcp.connections is 536870912, which needs "), 0U) << reported;
    EXPECT_NE(reported.find("valid there: 1.."), std::string::npos) << reported;
}

TEST_F(SplitProxy, BuffersThatTheKernelDoesNotGrantAreRefusedWithItsLimit) {
    ASSERT_EQ(::setns(home.get(), CLONE_NEWNET), 0);
    proxy_config c = config();
    c.transparent = true;
    c.connect_namespace = -1;
    c.buffer_bytes = 1 << 29;
    const std::string reported = refusal([&] { const proxy p(c); });
    EXPECT_EQ(reported.find("split_tcp.buffer_kb is 524288: the kernel grants "), 0U) << reported;
    EXPECT_NE(reported.find("net.core.rmem_max"), std::string::npos) << reported;
    c.buffer_bytes = 65536;  // the default, as any kernel grants it
    EXPECT_EQ(refusal([&] { const proxy p(c); }), "");
}

TEST(SplitConfig, MoreThanAGibibyteOfBuffersIsRefusedWithWhatIsValid) {
    const auto reported = [](const std::string& connections, const std::string& kb) {
        return refusal([&] {
            config::settings s(split_keys());
            s.merge_assignment("split_tcp.connections=" + connections);
            s.merge_assignment("split_tcp.buffer_kb=" + kb);
            translate(s);
        });
    };
    EXPECT_EQ(reported("256", "2048"), "");
    EXPECT_EQ(reported("8", "65536"), "");
    const std::string why = reported("256", "2049");
    EXPECT_NE(why.find("split_tcp.buffer_kb"), std::string::npos) << why;
    EXPECT_NE(why.find("valid with that: 4..2048"), std::string::npos) << why;
    EXPECT_NE(reported("10000", "64").find("4..52"), std::string::npos);
}

}  // namespace
}  // namespace wip::split
