// SPDX-License-Identifier: GPL-3.0-or-later
// The parts of an IP header that the link needs: the packet's length, and whether the header is
// valid. IPv4 (RFC 791): length in bytes 2..3, header checksum over IHL * 4 bytes. IPv6 (RFC 8200):
// payload length in bytes 4..5 and no header checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace wip {

// Bytes that are always enough for read_ip_header()
inline constexpr std::size_t max_ip_header_bytes = 60;
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

// One's complement sum of RFC 1071; `sum` carries on from an earlier part of even length.
std::uint32_t internet_sum(std::span<const std::uint8_t> data, std::uint32_t sum = 0) noexcept;

}  // namespace wip
