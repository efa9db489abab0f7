// SPDX-License-Identifier: GPL-3.0-or-later
// The ECN field of an IP packet (RFC 3168): the two low bits of the second byte of an IPv4 header,
// or of the traffic class of an IPv6 header.
#pragma once

#include <cstdint>
#include <span>

namespace wip {

enum class ecn : std::uint8_t {
    not_ect = 0,  // the sender does not react to marks
    ect_1 = 1,    // L4S (RFC 9331)
    ect_0 = 2,
    ce = 3,  // congestion experienced
};

// Returns not_ect if the packet has no IP header.
ecn read_ecn(std::span<const std::uint8_t> packet) noexcept;

// Writes "congestion experienced" into the header, and corrects the checksum of an IPv4 header.
// Returns false, and changes nothing, if the sender does not react to marks.
bool mark_congestion(std::span<std::uint8_t> packet) noexcept;

// A hash of the packet's flow: addresses, protocol, and the ports of TCP and UDP. All fragments of
// a packet have the same, because a fragment counts as having no ports.
std::uint32_t flow_hash(std::span<const std::uint8_t> packet, std::uint64_t key) noexcept;

}  // namespace wip
