// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal to which each packet of the server's goes; each is offered to a link or counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "packet/terminal_router.h"

using namespace wip;
using namespace wip::packet_model;

namespace {

// Notes what it is offered.
struct spy_link final : packet_link {
    bool offer(std::span<const std::uint8_t> packet, std::int64_t, int tag) override {
        offered.emplace_back(tag);
        in.add(packet.size());
        return true;
    }
    void advance(std::int64_t) override {}
    std::int64_t next_wakeup() const override { return never; }
    link_sums sums() const override { return {}; }
    bool idle() const override { return true; }
    std::vector<int> offered;
    packets_bytes in;
};

struct TerminalRouter : testing::Test {
    static std::vector<std::uint8_t> ipv4(std::array<std::uint8_t, 4> to) {
        std::vector<std::uint8_t> p(28);
        p[0] = 0x45;
        std::ranges::copy(to, p.begin() + 16);
        return p;
    }
    static std::vector<std::uint8_t> ipv6(std::uint8_t first) {
        std::vector<std::uint8_t> p(48);
        p[0] = 0x60;
        p[24] = first;
        return p;
    }
    // The terminals whose link got the packet.
    std::vector<int> to(const std::vector<std::uint8_t>& packet) {
        came.add(packet.size());
        spy_link link;
        router.offer(link, packet, 0);
        offered += link.in;
        EXPECT_EQ(came + router.copies(), offered + router.dropped());
        return link.offered;
    }
    terminal_router router{{"10.42.0.2/24", "10.42.0.3/24", "10.42.0.4/24"}};
    packets_bytes came, offered;
    using users = std::vector<int>;
};

}  // namespace

TEST_F(TerminalRouter, a_packet_goes_to_the_terminal_that_has_its_destination) {
    EXPECT_EQ(to(ipv4({10, 42, 0, 2})), users{0});
    EXPECT_EQ(to(ipv4({10, 42, 0, 4})), users{2});
    EXPECT_EQ(router.dropped(), packets_bytes{});
}
TEST_F(TerminalRouter, an_address_that_no_terminal_has_is_dropped_and_counted) {
    EXPECT_EQ(to(ipv4({10, 42, 0, 9})), users{});
    EXPECT_EQ(to(ipv4({192, 0, 2, 1})), users{});
    EXPECT_EQ(to(ipv6(0xfd)), users{});
    EXPECT_EQ(router.dropped(), (packets_bytes{3, 28 + 28 + 48}));
}
TEST_F(TerminalRouter, an_ipv6_address_has_its_terminal_and_any_other_is_dropped_and_counted) {
    const auto address_of = [](std::uint8_t last) {
        address6 a{0xfd, 0x42};
        a[15] = last;
        return a;
    };
    router = terminal_router({"10.42.0.2/24", "10.42.0.3/24"}, {address_of(2), address_of(3)});
    const auto packet = [&address_of](std::uint8_t last) {
        auto p = ipv6(0xfd);
        std::ranges::copy(address_of(last), p.begin() + 24);
        return p;
    };
    EXPECT_EQ(to(packet(2)), users{0});
    EXPECT_EQ(to(packet(3)), users{1});
    EXPECT_EQ(to(packet(4)), users{});
    EXPECT_EQ(router.dropped(), (packets_bytes{1, 48}));
    EXPECT_EQ(to(ipv6(0xff)), (users{0, 1}));
    EXPECT_EQ(to(ipv4({10, 42, 0, 3})), users{1});
    EXPECT_THROW(terminal_router({"10.42.0.2/24", "10.42.0.3/24"}, {address_of(2)}),
                 std::invalid_argument);
}
TEST_F(TerminalRouter, multicast_and_broadcast_go_to_every_terminal) {
    const users all{0, 1, 2};
    EXPECT_EQ(to(ipv4({224, 0, 0, 251})), all);
    EXPECT_EQ(to(ipv4({239, 255, 1, 1})), all);
    EXPECT_EQ(to(ipv4({255, 255, 255, 255})), all);
    EXPECT_EQ(to(ipv4({10, 42, 0, 255})), all) << "of the subnet";
    EXPECT_EQ(to(ipv6(0xff)), all);
    EXPECT_EQ(router.copies().packets, 10U);
}
TEST_F(TerminalRouter, what_is_no_ip_packet_is_the_links_to_count) {
    EXPECT_EQ(to({0x45, 0, 0}), users{0});
    EXPECT_EQ(to(std::vector<std::uint8_t>(60, 0x11)), users{0});
}
TEST_F(TerminalRouter, a_single_terminal_gets_everything) {
    router = terminal_router({"fd00::2/64"});
    for (const auto& p : {ipv4({10, 42, 0, 9}), ipv4({224, 0, 0, 1}), ipv6(0xfd), ipv6(0xff)})
        EXPECT_EQ(to(p), users{0});
    EXPECT_EQ(router.copies(), packets_bytes{});
}
TEST_F(TerminalRouter, a_subnet_of_two_addresses_has_no_broadcast_address) {
    router = terminal_router({"10.42.0.0/31", "10.42.0.4/31"});
    EXPECT_EQ(to(ipv4({10, 42, 0, 1})), users{});
}
TEST_F(TerminalRouter, an_address_that_is_none_is_refused_by_name) {
    for (const auto* text :
         {"10.42.0.2", "10.42.0/24", "10.42.0.2/33", "fd00::2/64", "", "10.42.0.256/24"})
        try {
            terminal_router({text, "10.42.0.3/24"});
            ADD_FAILURE() << text;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find(text), std::string::npos) << e.what();
        }
    EXPECT_THROW(terminal_router({}), std::invalid_argument);
}
