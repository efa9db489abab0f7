// SPDX-License-Identifier: GPL-3.0-or-later
// The TUN: errors that need no privileges here; with root, in a network namespace of its own, the
// interface itself.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tun/tun_device.h"
#include "types/failure.h"

using namespace wip;

namespace {

std::string error_with(const tun_settings& s) {
    try {
        tun_device t(s);
    } catch (const bad_input& e) {
        return e.what();
    }
    return "no error";
}

// A namespace for this process only, so that interface names cannot meet others.
class TunInNamespace : public testing::Test {
protected:
    void SetUp() override {
        if (::geteuid() != 0 || ::access("/dev/net/tun", F_OK) != 0)
            GTEST_SKIP() << "needs root and /dev/net/tun";
        ASSERT_EQ(::unshare(CLONE_NEWNET), 0) << strerror(errno);
    }
};

sockaddr_in at(const char* address, int port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    inet_pton(AF_INET, address, &a.sin_addr);
    return a;
}

struct udp_socket {
    int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ~udp_socket() { ::close(fd); }
    void send(std::size_t size) const {
        const auto to = at("10.42.0.2", 9);
        const std::vector<char> data(size);
        ::sendto(fd, data.data(), data.size(), 0, reinterpret_cast<const sockaddr*>(&to),
                 sizeof to);
    }
};

}  // namespace

TEST(Tun, AMissingDeviceIsNamedWithItsRemedy) {
    const auto e = error_with({.device = "/nowhere/tun"});
    EXPECT_TRUE(e.starts_with("/nowhere/tun: not there")) << e;
}
TEST(Tun, ADeviceThatIsNoTunIsRefused) {
    const auto e = error_with({.device = "/dev/null"});
    EXPECT_TRUE(e.starts_with("tun.name is wip0: ")) << e;
}
TEST(Tun, AnUncheckedNameIsABug) {
    EXPECT_THROW(tun_device({.name = std::string(99, 'x')}), std::invalid_argument);
    EXPECT_THROW(tun_device({.address = "nonsense"}), std::invalid_argument);
}
TEST(Tun, AdoptedDescriptorKeepsPacketBorders) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    tun_device t = tun_device::adopt(pair[0]);
    std::array<std::uint8_t, 100> buffer{};
    EXPECT_EQ(t.read(buffer), 0);
    ASSERT_EQ(::write(pair[1], "abc", 3), 3);
    ASSERT_EQ(::write(pair[1], "de", 2), 2);
    EXPECT_EQ(t.read(buffer), 3);
    EXPECT_EQ(t.read(buffer), 2);
    EXPECT_EQ(t.read(buffer), 0);
    EXPECT_EQ(t.write(std::span(buffer).first(7)), 0);
    EXPECT_EQ(::read(pair[1], buffer.data(), buffer.size()), 7);
    ::close(pair[1]);
    EXPECT_NE(t.write(buffer), 0);
}
TEST_F(TunInNamespace, ANameInUseIsRefused) {
    tun_device first(tun_settings{});
    EXPECT_EQ(error_with({}),
              "tun.name is wip0: an interface of this name exists already; valid: another name");
    EXPECT_EQ(error_with({.name = "lo"}),
              "tun.name is lo: an interface of this name exists already; valid: another name");
}
TEST_F(TunInNamespace, WithoutTheRightItSaysWhatIsNeeded) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresuid(65534, 65534, 65534) != 0) ::_exit(3);
        const auto e = error_with({});
        ::_exit(e.find("CAP_NET_ADMIN") != std::string::npos ||
                        e.find("no permission") != std::string::npos
                    ? 0
                    : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
TEST_F(TunInNamespace, TheInterfaceIsUpWithAddressAndMtuAndGoesWithItsOwner) {
    udp_socket s;
    ifreq r{};
    std::strcpy(r.ifr_name, "wip0");
    {
        tun_device t({.mtu = 1400, .txqueuelen = 77});
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFMTU, &r), 0);
        EXPECT_EQ(r.ifr_mtu, 1400);
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFTXQLEN, &r), 0);
        EXPECT_EQ(r.ifr_qlen, 77);
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFFLAGS, &r), 0);
        EXPECT_TRUE((r.ifr_flags & IFF_UP) != 0);
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFADDR, &r), 0);
        EXPECT_EQ(reinterpret_cast<sockaddr_in*>(&r.ifr_addr)->sin_addr.s_addr,
                  at("10.42.0.1", 0).sin_addr.s_addr);
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFNETMASK, &r), 0);
        EXPECT_EQ(reinterpret_cast<sockaddr_in*>(&r.ifr_netmask)->sin_addr.s_addr,
                  at("255.255.255.252", 0).sin_addr.s_addr);
    }
    EXPECT_NE(::ioctl(s.fd, SIOCGIFMTU, &r), 0);
}
TEST_F(TunInNamespace, AnIdleInterfaceSendsNothingOfItsOwn) {
    tun_device t(tun_settings{});
    ::usleep(300000);
    std::array<std::uint8_t, 2000> buffer{};
    EXPECT_EQ(t.read(buffer), 0);
    EXPECT_TRUE(t.warning().empty()) << t.warning();
}
TEST_F(TunInNamespace, AnIpv6AddressIsTaken) {
    tun_device t({.address = "fd00:42::1/64"});
    std::ifstream in("/proc/net/if_inet6");
    std::string line, all;
    while (std::getline(in, line)) all += line + "\n";
    EXPECT_NE(all.find("fd000042000000000000000000000001"), std::string::npos) << all;
    EXPECT_EQ(all.find("fe80"), std::string::npos)
        << "no link-local address that would be announced";
}
// The kernel joins the group of all routers on each interface of a host that forwards.
TEST_F(TunInNamespace, AnIdleIpv6InterfaceSendsNothingOfItsOwnAlsoWhereIpv6IsForwarded) {
    const auto forward = [](const char* value) {
        std::ofstream out("/proc/sys/net/ipv6/conf/all/forwarding");
        out << value << std::flush;
        return out.good();
    };
    for (const bool later : {false, true}) {
        if (!forward(later ? "0" : "1")) GTEST_SKIP() << "no IPv6, or /proc/sys cannot be written";
        tun_device t({.address = "fd00:42::1/64"});
        ASSERT_TRUE(forward("1"));
        std::array<std::uint8_t, 2000> buffer{};
        for (int i = 0; i < 15; ++i) {  // reports are sent within a second, twice
            ::usleep(100000);
            ASSERT_EQ(t.read(buffer), 0) << (later ? "forwarding was switched on later" : "");
        }
        udp_socket s;
        ifreq r{};
        std::strcpy(r.ifr_name, "wip0");
        ASSERT_EQ(::ioctl(s.fd, SIOCGIFMTU, &r), 0);
        EXPECT_EQ(r.ifr_mtu, 1500);
    }
}
TEST_F(TunInNamespace, PacketsComeOutWholeAndInOrder) {
    tun_device t(tun_settings{});
    udp_socket s;
    s.send(10);
    s.send(1400);
    std::array<std::uint8_t, 2000> buffer{};
    EXPECT_EQ(t.read(buffer), 38);
    EXPECT_EQ(buffer[0] >> 4, 4);
    EXPECT_EQ(t.read(buffer), 1428);
    EXPECT_EQ(t.read(buffer), 0);
}
TEST_F(TunInNamespace, WhatTheKernelQueueDropsIsCounted) {
    tun_device t({.txqueuelen = 5});
    udp_socket s;
    for (int i = 0; i < 25; ++i) s.send(100);
    std::array<std::uint8_t, 2000> buffer{};
    int read = 0;
    while (t.read(buffer) > 0) ++read;
    EXPECT_LT(read, 25);
    EXPECT_EQ(t.kernel_drops() + static_cast<unsigned>(read), 25U);
}
TEST_F(TunInNamespace, WhatTheKernelQueueDropsIsCountedBehindManyOtherInterfaces) {
    std::vector<tun_device> others;
    for (int i = 1; i <= 60; ++i)
        others.emplace_back(tun_settings{.name = "wip" + std::to_string(i),
                                         .address = "10.43." + std::to_string(i) + ".1/30"});
    tun_device t({.txqueuelen = 5});
    udp_socket s;
    for (int i = 0; i < 25; ++i) s.send(100);
    EXPECT_GT(t.kernel_drops(), 0U);
    EXPECT_LT(t.kernel_drops(), 25U);
}
TEST_F(TunInNamespace, WhatIsNotIpIsRefusedByTheKernel) {
    tun_device t(tun_settings{});
    std::array<std::uint8_t, 40> buffer{};
    EXPECT_EQ(t.write(buffer), EINVAL);
}
