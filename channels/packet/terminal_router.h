// SPDX-License-Identifier: GPL-3.0-or-later
// Sends each packet from the server to its terminal, by the destination in its IP header:
//
//   one terminal               it gets every packet, as on a cable between two interfaces
//   a terminal's address       that terminal
//   multicast, and broadcast   every terminal, one copy each (224.0.0.0/4, 255.255.255.255, the
//                              broadcast address of the terminals' subnet; IPv6: ff00::/8)
//   any other IP address       dropped and counted: there is no such terminal
//   no IP header               the first terminal's link, which counts it (`not_ip`)
//
// Conservation: packets from the interface = packets offered to the links - copies() + dropped().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "port/packet_link.h"

namespace wip::packet_model {

inline constexpr const char* no_such_terminal = "no_such_terminal";

using address6 = std::array<std::uint8_t, 16>;

class terminal_router {
public:
    // `terminals`: the IPv4 address of each, "ADDRESS/LENGTH"; `terminals6`: their IPv6 addresses,
    // one for each or none at all. Throws std::invalid_argument.
    explicit terminal_router(const std::vector<std::string>& terminals,
                             const std::vector<address6>& terminals6 = {});

    // The tag with which the link is offered the packet is the terminal's number.
    void offer(packet_link& down, std::span<const std::uint8_t> packet, std::int64_t now_ns);

    // Dropped: no terminal has the destination address.
    const packets_bytes& dropped() const { return dropped_; }
    // Copies of multicast and broadcast packets beyond the first of each.
    const packets_bytes& copies() const { return copies_; }

private:
    enum class destination : std::uint8_t { one, every, none };
    destination find(std::span<const std::uint8_t> packet, int& user) const;
    bool is_for_all(std::uint32_t address) const;

    std::vector<std::uint32_t> addresses_;
    std::vector<address6> addresses6_;
    std::uint32_t subnet_broadcast_ = 0;  // 0: the subnet has none (/31, /32)
    packets_bytes dropped_, copies_;
};

}  // namespace wip::packet_model
