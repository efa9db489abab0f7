// SPDX-License-Identifier: GPL-3.0-or-later
// How many packets, and their bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wip {

struct packets_bytes {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;

    constexpr void add(std::size_t size) { ++packets, bytes += size; }
    constexpr void take(std::size_t size) { --packets, bytes -= size; }
    constexpr packets_bytes& operator+=(const packets_bytes& o) {
        packets += o.packets, bytes += o.bytes;
        return *this;
    }
    constexpr packets_bytes& operator-=(const packets_bytes& o) {
        packets -= o.packets, bytes -= o.bytes;
        return *this;
    }
    friend constexpr packets_bytes operator+(packets_bytes a, const packets_bytes& b) {
        return a += b;
    }
    friend constexpr packets_bytes operator-(packets_bytes a, const packets_bytes& b) {
        return a -= b;
    }
    friend constexpr bool operator==(const packets_bytes&, const packets_bytes&) = default;
};

}  // namespace wip
