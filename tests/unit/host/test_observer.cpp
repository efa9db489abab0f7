// SPDX-License-Identifier: GPL-3.0-or-later
// The observer's readers: /proc from files made here, TCP connections of this process's own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "config/schema.h"
#include "observer/observer_config.h"
#include "observer/omitted_watch.h"
#include "observer/process_clock.h"
#include "observer/tcp_diag.h"
#include "observer/tcp_flow.h"

using namespace wip::observer;
namespace fs = std::filesystem;

namespace {

std::string stat_line(const std::string& name, int user, int system, int start, int pages,
                      char state = 'S') {
    std::string line = "7 (" + name + ") " + state;
    for (int field = 4; field <= 13; ++field) line += " 0";
    line += " " + std::to_string(user) + " " + std::to_string(system) + " 0 0 20 0 1 0 " +
            std::to_string(start) + " 1000000 " + std::to_string(pages) + " 0 0 0\n";
    return line;
}

// A run folder and a /proc.
class Proc : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/owip-observer-XXXXXX";
        folder = ::mkdtemp(name);
        fs::create_directories(folder / "run/pids");
        fs::create_directories(folder / "proc/pressure");
    }
    void TearDown() override { fs::remove_all(folder); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((folder / path).parent_path());
        std::ofstream(folder / path) << text;
    }
    void process(int pid, int start, int ticks, std::int64_t waited_ns) const {
        const std::string at = "proc/" + std::to_string(pid);
        write(at + "/stat", stat_line("x y) z", ticks, 0, start, 10));
        write(at + "/task/" + std::to_string(pid) + "/schedstat",
              "1 " + std::to_string(waited_ns) + " 3\n");
    }
    const openwip::telemetry::ProcessCpu& only() const {
        EXPECT_EQ(sample.process_size(), 1);
        return sample.process(0);
    }

    fs::path folder;
    openwip::telemetry::CpuSample sample;
};

// A TCP connection of this process with itself, over the loopback.
struct connection {
    explicit connection(int family) {
        sockaddr_storage address{};
        address.ss_family = static_cast<sa_family_t>(family);
        socklen_t size = sizeof address;
        if (family == AF_INET)
            reinterpret_cast<sockaddr_in*>(&address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            reinterpret_cast<sockaddr_in6*>(&address)->sin6_addr = in6addr_loopback;
        listener = ::socket(family, SOCK_STREAM, 0);
        client = ::socket(family, SOCK_STREAM, 0);
        auto* a = reinterpret_cast<sockaddr*>(&address);
        const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        good = ::bind(listener, a, length) == 0 && ::listen(listener, 1) == 0 &&
               ::getsockname(listener, a, &size) == 0 && ::connect(client, a, length) == 0;
        if (!good) return;
        server = ::accept(listener, nullptr, nullptr);
        size = sizeof address;
        ::getsockname(client, a, &size);
        // the field has the same place in both structs
        port = ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    }
    ~connection() {
        for (const int fd : {listener, client, server})
            if (fd >= 0) ::close(fd);
    }
    // Ends with a reset, so that no end waits, and a new one has the same addresses and ports.
    bool comes_again() {
        sockaddr_in from{}, to{};
        socklen_t size = sizeof from;
        auto *own = reinterpret_cast<sockaddr*>(&from), *others = reinterpret_cast<sockaddr*>(&to);
        if (::getsockname(client, own, &size) != 0 || ::getsockname(listener, others, &size) != 0)
            return false;
        const linger none{1, 0};
        for (int* fd : {&client, &server}) {
            ::setsockopt(*fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
            ::close(*fd);
        }
        client = ::socket(AF_INET, SOCK_STREAM, 0);
        const int yes = 1;
        ::setsockopt(client, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (::bind(client, own, size) != 0 || ::connect(client, others, size) != 0) return false;
        server = ::accept(listener, nullptr, nullptr);
        return server >= 0;
    }
    const tcp_connection* in(const tcp_diag& diag) const {
        const auto& all = diag.connections();
        const auto it = std::find_if(all.begin(), all.end(), [this](const tcp_connection& c) {
            return ntohs(c.id.idiag_sport) == port;
        });
        return it == all.end() ? nullptr : &*it;
    }
    int listener = -1, client = -1, server = -1;
    std::uint16_t port = 0;
    bool good = false;
};

// The kernel's end of a netlink socket. `sequence`: the number of the question, which the observer
// counts.
struct played_kernel {
    using bytes = std::vector<std::uint8_t>;
    played_kernel() {
        int pair[2];
        if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0) own = pair[0], other_end = pair[1];
    }
    ~played_kernel() { ::close(own); }
    static bytes message(std::uint16_t type, std::uint32_t sequence, const bytes& body) {
        nlmsghdr head{static_cast<std::uint32_t>(NLMSG_LENGTH(body.size())), type, 0, sequence, 0};
        bytes m(NLMSG_SPACE(body.size()));
        std::memcpy(m.data(), &head, sizeof head);
        std::ranges::copy(body, m.begin() + NLMSG_HDRLEN);
        return m;
    }
    template <typename T>
    static void append(bytes& to, const T& value) {
        const std::size_t at = to.size();
        to.resize(at + sizeof value);
        std::memcpy(to.data() + at, &value, sizeof value);
    }
    static bytes connection(std::uint32_t sequence, int port) {
        inet_diag_msg m{};
        m.idiag_family = AF_INET;
        m.idiag_state = 1;
        m.id.idiag_sport = htons(static_cast<std::uint16_t>(port));
        bytes body;
        append(body, m);
        append(body, rtattr{RTA_LENGTH(sizeof(tcp_info)), INET_DIAG_INFO});
        append(body, tcp_info{});
        return message(20, sequence, body);  // SOCK_DIAG_BY_FAMILY
    }
    static bytes done(std::uint32_t sequence) { return message(NLMSG_DONE, sequence, bytes(4)); }
    static bytes error(std::uint32_t sequence, int code) {
        nlmsgerr e{};
        e.error = -code;
        bytes body;
        append(body, e);
        return message(NLMSG_ERROR, sequence, body);
    }
    // The kernel sends these messages in one datagram.
    void says(const std::vector<bytes>& messages) const {
        bytes all;
        for (const auto& m : messages) all.insert(all.end(), m.begin(), m.end());
        EXPECT_EQ(::write(own, all.data(), all.size()), static_cast<ssize_t>(all.size()));
    }
    int own = -1, other_end = -1;
};

}  // namespace

TEST(LeftOutWatch, WhatASourceLeavesOutIsComparedWithItsOwnLastWord) {
    omitted_watch watch;
    EXPECT_EQ(watch.more("base", 3), 0U) << "the first word is no news";
    EXPECT_EQ(watch.more("terminal", 5), 0U);
    // The base station does not answer; then it says what it said before.
    EXPECT_EQ(watch.more("terminal", 5), 0U);
    EXPECT_EQ(watch.more("base", 3), 0U);
    EXPECT_EQ(watch.more("base", 5), 2U);
    EXPECT_EQ(watch.more("base", 1), 0U);
    EXPECT_EQ(watch.more("base", 2), 1U);
    watch.forget();
    EXPECT_EQ(watch.more("terminal", 9), 0U);
    EXPECT_EQ(watch.more("terminal", 10), 1U);
}

TEST(ProcFiles, AStatFileIsReadWhateverTheNameHolds) {
    const auto f = parse_stat(stat_line("a) R 1 (b", 250, 50, 1234, 10));
    ASSERT_TRUE(f);
    EXPECT_DOUBLE_EQ(f->cpu_seconds, 300.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
    EXPECT_EQ(f->start_ticks, 1234U);
    EXPECT_EQ(f->resident_bytes, 10U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}
TEST(ProcFiles, WhatIsNoneIsNothing) {
    EXPECT_FALSE(parse_stat(""));
    EXPECT_FALSE(parse_stat("7 (x) S 1 2"));
    EXPECT_FALSE(parse_stat(stat_line("x", 1, 1, 1, 1, 'Z')));
    EXPECT_FALSE(parse_schedstat(""));
    EXPECT_FALSE(parse_schedstat("5"));
    EXPECT_FALSE(parse_schedstat("0 0 0\n")) << "a kernel that does not count";
    EXPECT_FALSE(parse_schedstat("5 x 7"));
    EXPECT_FALSE(parse_pressure(""));
    EXPECT_FALSE(parse_pressure("full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n"));
    EXPECT_EQ(parse_schedstat("5 6 7\n"), 6U);
    EXPECT_EQ(parse_pressure("some avg10=1.50 avg60=0.00 avg300=0.00 total=77\nfull total=1\n"),
              77U);
}
TEST_F(Proc, WhatHasEndedSinceTheLastSampleIsToldOnce) {
    using ended = std::vector<process_clock::ended_process>;
    write("run/pids/air", "7 1234");
    write("run/pids/judge", "8 1235");
    write("run/applications", "9 1236 iperf3\n");
    for (const int pid : {7, 8, 9}) process(pid, 1227 + pid, 1, 1);
    process_clock clock(folder / "run", folder / "proc");
    EXPECT_EQ(clock.take_ended(), ended{});
    clock.sample(0, 10, sample);
    EXPECT_EQ(clock.take_ended(), ended{});
    fs::remove_all(folder / "proc/8");
    process(9, 4000, 1, 1);  // the pid now belongs to another process
    EXPECT_EQ(clock.take_ended(), (ended{{"judge", false}, {"iperf3", true}}));
    EXPECT_EQ(clock.take_ended(), ended{});
    clock.sample(1, 10, sample);
    EXPECT_EQ(only().name(), "air");
    EXPECT_EQ(clock.take_ended(), ended{});
}
TEST_F(Proc, CoresAndWaitingAreOfTheIntervalBetweenTwoSamples) {
    write("run/pids/air", "7 1234");
    process(7, 1234, 100, 1'000'000'000);
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 10, sample);
    EXPECT_EQ(only().name(), "air");
    EXPECT_EQ(only().cores(), 0);
    EXPECT_FALSE(only().has_waiting()) << "not known before there is an interval";
    process(7, 1234, 100 + static_cast<int>(::sysconf(_SC_CLK_TCK)), 1'500'000'000);
    clock.sample(2'000'000'000, 10, sample);
    EXPECT_DOUBLE_EQ(only().cores(), 0.5);
    EXPECT_DOUBLE_EQ(only().waiting(), 0.25);
}
TEST_F(Proc, AnotherProcessWithThePidIsNotOurs) {
    write("run/pids/air", "7 1234");
    process(7, 9999, 100, 0);
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 10, sample);
    EXPECT_EQ(sample.process_size(), 0);
}
TEST_F(Proc, ApplicationsAreFoundByTheirList) {
    write("run/applications", "8 55 iperf3\n9 56 x\nnonsense\n");
    process(8, 55, 1, 1);
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 10, sample);
    EXPECT_EQ(only().name(), "iperf3");
}
TEST_F(Proc, BeyondTheLimitTheyAreCounted) {
    for (int pid = 10; pid < 15; ++pid) {
        write("run/pids/p" + std::to_string(pid), std::to_string(pid) + " 1");
        process(pid, 1, 1, 1);
    }
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 3, sample);
    EXPECT_EQ(sample.process_size(), 3);
    EXPECT_EQ(sample.left_out(), 2U);
}
TEST_F(Proc, PressureIsOfTheIntervalAndAbsentWhereTheKernelHasNone) {
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 3, sample);
    clock.sample(1'000'000'000, 3, sample);
    EXPECT_FALSE(sample.has_pressure_percent());
    write("proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1000000\n");
    clock.sample(2'000'000'000, 3, sample);
    EXPECT_FALSE(sample.has_pressure_percent());
    write("proc/pressure/cpu", "some avg10=0 avg60=0 avg300=0 total=1250000\n");
    clock.sample(3'000'000'000, 3, sample);
    EXPECT_DOUBLE_EQ(sample.pressure_percent(), 25);
}
TEST_F(Proc, WaitingIsNotKnownWithoutSchedstat) {
    write("run/pids/air", "7 1");
    write("proc/7/stat", stat_line("x", 1, 1, 1, 1));
    process_clock clock(folder / "run", folder / "proc");
    clock.sample(0, 3, sample);
    clock.sample(1'000'000'000, 3, sample);
    EXPECT_FALSE(only().has_waiting());
}

TEST(TcpDiag, BothEndsOfAConnectionAreFoundAndRefreshed) {
    for (const int family : {AF_INET, AF_INET6}) {
        const connection c(family);
        if (!c.good && family == AF_INET6) GTEST_SKIP() << "no IPv6 loopback here";
        ASSERT_TRUE(c.good);
        tcp_diag diag("", "test", 5000);
        ASSERT_TRUE(diag.search()) << diag.failure();
        const auto* found = c.in(diag);
        ASSERT_NE(found, nullptr);
        const auto before = found->info.tcpi_bytes_acked;  // the kernel may count the SYN
        EXPECT_LE(before, 1U);
        const std::string data(5000, 'x');
        ASSERT_EQ(::send(c.client, data.data(), data.size(), 0), 5000);
        std::string read(5000, 0);
        ASSERT_EQ(::recv(c.server, read.data(), read.size(), MSG_WAITALL), 5000);
        ASSERT_TRUE(diag.refresh()) << diag.failure();
        found = c.in(diag);
        ASSERT_NE(found, nullptr);
        openwip::telemetry::TcpFlow flow;
        fill(*found, "base", flow);
        EXPECT_EQ(flow.state(), "ESTAB");
        EXPECT_EQ(flow.local(),
                  (family == AF_INET ? "127.0.0.1:" : "[::1]:") + std::to_string(c.port));
        EXPECT_GT(flow.cwnd_segments(), 0U);
        EXPECT_FALSE(flow.congestion_control().empty());
        EXPECT_EQ(flow.bytes_acknowledged() - before, 5000U);
    }
}
TEST(TcpDiag, AsManyAsTheLimitAllowsAreRefreshedAtOnce) {
    std::vector<std::unique_ptr<connection>> all;
    for (int i = 0; i < 250; ++i) all.push_back(std::make_unique<connection>(AF_INET));
    tcp_diag diag("", "test", 1024);
    ASSERT_TRUE(diag.search()) << diag.failure();
    const std::size_t found = diag.connections().size();
    ASSERT_GE(found, 500U);
    EXPECT_TRUE(diag.refresh()) << diag.failure();
    EXPECT_EQ(diag.connections().size(), found);
}
TEST(TcpDiag, AConnectionThatIsGoneIsDropped) {
    tcp_diag diag("", "test", 5000);
    std::uint16_t port = 0;
    {
        const connection c(AF_INET);
        port = c.port;
        ASSERT_TRUE(diag.search());
        ASSERT_NE(c.in(diag), nullptr);
    }
    ASSERT_TRUE(diag.refresh()) << diag.failure();
    for (const auto& c : diag.connections()) EXPECT_NE(ntohs(c.id.idiag_sport), port);
}
TEST(TcpDiag, AConnectionWhoseAddressesAnotherOneHasNowIsDroppedAndTheOthersAreKept) {
    const connection other(AF_INET);
    auto c = std::make_unique<connection>(AF_INET);
    tcp_diag diag("", "test", 5000);
    ASSERT_TRUE(diag.search()) << diag.failure();
    ASSERT_NE(c->in(diag), nullptr);
    ASSERT_TRUE(c->comes_again());
    ASSERT_TRUE(diag.refresh()) << diag.failure();
    EXPECT_EQ(c->in(diag), nullptr);
    EXPECT_NE(other.in(diag), nullptr);
    ASSERT_TRUE(diag.search()) << diag.failure();
    EXPECT_NE(c->in(diag), nullptr);
}
// Kernels differ in what they answer of a connection that is gone; here the test is the kernel.
TEST(TcpDiag, EveryAnswerThatAConnectionIsGoneDropsThatOneAlone) {
    for (const int code : {ENOENT, ESTALE}) {
        played_kernel kernel;
        tcp_diag diag = tcp_diag::adopt(kernel.other_end, 10);
        kernel.says({kernel.connection(1, 5001), kernel.connection(1, 5002), kernel.done(1)});
        kernel.says({kernel.done(2)});
        ASSERT_TRUE(diag.search()) << diag.failure();
        ASSERT_EQ(diag.connections().size(), 2U);
        kernel.says({kernel.error(3, code)});
        kernel.says({kernel.connection(4, 5002)});
        EXPECT_TRUE(diag.refresh()) << diag.failure();
        ASSERT_EQ(diag.connections().size(), 1U) << code;
        EXPECT_EQ(ntohs(diag.connections()[0].id.idiag_sport), 5002);
    }
}
TEST(TcpDiag, AnAnswerThatIsAFaultIsTold) {
    played_kernel kernel;
    tcp_diag diag = tcp_diag::adopt(kernel.other_end, 10);
    kernel.says({kernel.connection(1, 5001), kernel.done(1)});
    kernel.says({kernel.done(2)});
    ASSERT_TRUE(diag.search());
    kernel.says({kernel.error(3, EPERM)});
    EXPECT_FALSE(diag.refresh());
    EXPECT_EQ(diag.failure(), "Operation not permitted");
}
TEST(TcpDiag, BeyondTheLimitThoseThatMovedTheMostAreKeptAndTheRestIsCounted) {
    const connection busy(AF_INET), quiet(AF_INET);
    ASSERT_TRUE(busy.good && quiet.good);
    const std::string data(60000, 'x');
    for (int i = 0; i < 50; ++i) {
        std::string read(data.size(), 0);
        ASSERT_EQ(::send(busy.client, data.data(), data.size(), 0),
                  static_cast<ssize_t>(data.size()));
        ASSERT_EQ(::recv(busy.server, read.data(), read.size(), MSG_WAITALL),
                  static_cast<ssize_t>(data.size()));
    }
    tcp_diag all("", "test", 100000);
    ASSERT_TRUE(all.search());
    tcp_diag diag("", "test", 1);
    ASSERT_TRUE(diag.search());
    EXPECT_EQ(diag.connections().size(), 1U);
    EXPECT_GE(diag.omitted(), 3U);
    EXPECT_EQ(quiet.in(diag), nullptr);
}
TEST(TcpDiag, ANamespaceThatIsNotThereIsNamed) {
    try {
        tcp_diag diag("owip-no-such", "stations: base", 1);
        FAIL();
    } catch (const std::runtime_error& e) {
        EXPECT_NE(std::string(e.what()).find("stations: base is owip-no-such"), std::string::npos)
            << e.what();
    }
}

TEST(TcpFlow, WhatIsNotSetYetIsZeroAndAnUnknownStateHasAName) {
    tcp_connection c;
    c.family = AF_INET;
    c.state = 200;
    c.info.tcpi_snd_ssthresh = 0x7fffffff;
    c.info.tcpi_min_rtt = ~0U;
    openwip::telemetry::TcpFlow flow;
    fill(c, "terminal", flow);
    EXPECT_EQ(flow.ssthresh_segments(), 0U);
    EXPECT_EQ(flow.min_rtt_ms(), 0);
    EXPECT_EQ(flow.state(), "UNKNOWN");
    EXPECT_EQ(flow.station(), "terminal");
}
TEST(TcpFlow, AnIpv6SocketThatTalksIpv4ShowsTheAddressOnThePackets) {
    tcp_connection c;
    c.family = AF_INET6;
    c.state = 1;
    inet_pton(AF_INET6, "::ffff:10.42.0.2", c.id.idiag_src);
    inet_pton(AF_INET6, "fd00::1", c.id.idiag_dst);
    c.id.idiag_sport = htons(5201);
    c.id.idiag_dport = htons(80);
    openwip::telemetry::TcpFlow flow;
    fill(c, "terminal", flow);
    EXPECT_EQ(flow.local(), "10.42.0.2:5201");
    EXPECT_EQ(flow.remote(), "[fd00::1]:80");
}

TEST(ObserverConfig, AWrongListOfStationsIsRefused) {
    for (const std::string text : {"base", "=x", "base=a/b"}) {
        wip::config::settings s(observer_keys());
        EXPECT_THROW(s.merge_assignment("stations=" + text), wip::config::error) << text;
    }
    wip::config::settings s(observer_keys());
    s.merge_assignment("stations=base=one, terminal=two");
    s.merge_assignment("telemetry=ipc:///tmp/o");
    s.merge_assignment("slots=");
    s.merge_assignment("medium=");
    const auto c = translate(s);
    ASSERT_EQ(c.stations.size(), 2U);
    EXPECT_EQ(c.stations[1].station, "terminal");
    EXPECT_EQ(c.stations[1].network_namespace, "two");
}
