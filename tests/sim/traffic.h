// SPDX-License-Identifier: GPL-3.0-or-later
// Packets whose content says who they are: a right IPv4 or IPv6 header with the packet's number in
// it, and a payload that follows from the number, so that a delivered packet is identified and
// compared with what was sent without keeping it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "types/splitmix64.h"

namespace wip::sim {

struct packet_kind {
    int version = 4;
    int bytes = 1500;
    int protocol = 17;  // IPv4 protocol number
    int fill = -1;  // byte that fills the payload; -1: the payload follows from the packet's number
    bool nested = false;   // the payload is an IP packet of its own (a tunnel)
    bool crafted = false;  // the payload is IP packets of 20 bytes, one after the other
};

// The packet of this number; bytes at least 48.
std::vector<std::uint8_t> make_packet(std::uint32_t number, const packet_kind& kind);

// The number that a packet claims, when its header is intact.
std::optional<std::uint32_t> packet_number(std::span<const std::uint8_t> packet);

class random_source : public splitmix64 {
public:
    using splitmix64::splitmix64;
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    bool hits(double p) { return uniform() < p; }
    int up_to(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
    double gauss();
};

}  // namespace wip::sim
