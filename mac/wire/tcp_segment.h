// SPDX-License-Identifier: GPL-3.0-or-later
// A whole TCP segment in an IP packet, as the stages see it that know connections by addresses and
// ports. Everything that is none is nullopt: other protocols and encrypted ones, fragments, IPv6
// with extension headers, headers that are malformed or not all there.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/tcp_options.h"

namespace wip::tcp {

// A direction of a connection: addresses of source and destination one after the other (IPv4: the
// first 8 bytes), ports as in the header.
struct flow_key {
    std::array<std::uint8_t, 32> addresses{};
    std::uint32_t ports = 0;
    std::uint8_t version = 0;  // 4 or 6
    auto operator<=>(const flow_key&) const = default;

    // The other direction of the connection.
    flow_key reversed() const;
};

struct segment {
    flow_key key;
    std::uint32_t sequence = 0, acknowledgement = 0;
    std::uint16_t window = 0;  // not scaled
    std::uint8_t flags = 0;
    bytes options;         // valid as long as the packet
    std::size_t data = 0;  // bytes
    bool has(int flag) const { return (flags & flag) != 0; }
};

std::optional<segment> read_segment(std::span<const std::uint8_t> packet);

}  // namespace wip::tcp
