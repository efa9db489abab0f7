// SPDX-License-Identifier: GPL-3.0-or-later
// Fields by which an IP packet differs from its neighbours: protocol, ports, sequence number,
// identification. The reader takes the fields that are there and nothing else: a short or malformed
// packet gives zeros, never an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wip {

struct flow_fields {
    std::uint8_t protocol = 0;         // IPv6: of the first header
    std::uint16_t identification = 0;  // IPv4
    std::uint16_t source_port = 0;     // TCP, UDP
    std::uint16_t destination_port = 0;
    std::uint32_t tcp_sequence = 0;
    bool operator==(const flow_fields&) const = default;
};

flow_fields read_flow_fields(std::span<const std::uint8_t> packet) noexcept;

// The bytes that a packet carries for an application: those after the TCP or UDP header, or after
// the IP header of other protocols and of later fragments. 0: there are none, or it is no IP
// packet.
std::size_t application_bytes(std::span<const std::uint8_t> packet) noexcept;

}  // namespace wip
