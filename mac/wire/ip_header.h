// SPDX-License-Identifier: GPL-3.0-or-later
// What the link needs to know of an IP header: where the packet ends, and whether the header can be
// believed. IPv4 (RFC 791): length in bytes 2..3, header checksum over IHL * 4 bytes. IPv6 (RFC
// 8200): payload length in bytes 4..5 and no header checksum; for TCP, UDP and ICMPv6 the checksum
// of the transport covers addresses, length and data instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wip {

inline constexpr std::size_t max_ip_header_bytes = 60;  // as much as is ever needed to judge
inline constexpr std::size_t max_packet_bytes = 65575;  // IPv6 header + 65535

struct ip_header {
    int version = 0;               // 4 or 6
    std::size_t header_bytes = 0;  // 20..60, or 40
    std::size_t total_bytes = 0;   // header and payload
};

// Bytes that have to be there to read the header that starts with `first`; 0: no IP header does.
std::size_t ip_header_bytes(std::uint8_t first) noexcept;

// The header at the start of `data` (at least ip_header_bytes(data[0]) bytes); nullopt when it
// cannot be one: version, IHL, length shorter than the header, wrong IPv4 header checksum.
std::optional<ip_header> read_ip_header(std::span<const std::uint8_t> data) noexcept;

// The fields at the start of `data` (at least 10 bytes) are such as most packets of a host have:
// known protocol (next header), TTL (hop limit) not 0; IPv4: the reserved flag not set. Says
// nothing about length and checksum. Of random IPv4 headers one in 30 passes, of IPv6 ones one
// in 14. There are right headers that do not: this can say which of two is likelier, and no more.
bool plausible_ip_header(std::span<const std::uint8_t> data) noexcept;

// True when `packet` is an IPv6 packet that carries TCP, UDP or ICMPv6 directly and whose checksum
// is right.
bool ipv6_transport_checksum_ok(std::span<const std::uint8_t> packet) noexcept;

// One's complement sum of RFC 1071; `sum` carries on from an earlier part of even length.
std::uint32_t internet_sum(std::span<const std::uint8_t> data, std::uint32_t sum = 0) noexcept;

}  // namespace wip
