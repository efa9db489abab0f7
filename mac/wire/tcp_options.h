// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers and options in a TCP header (RFC 9293; timestamps: RFC 7323).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wip::tcp {

using bytes = std::span<const std::uint8_t>;

inline constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10;
inline constexpr std::size_t least_header = 20;
inline constexpr int protocol = 6;
inline constexpr std::uint8_t option_scale = 3, option_sack = 5, option_timestamps = 8;

inline std::uint16_t read16(bytes b, std::size_t at) {
    return static_cast<std::uint16_t>(b[at] << 8 | b[at + 1]);
}
inline std::uint32_t read32(bytes b, std::size_t at) {
    return std::uint32_t{read16(b, at)} << 16 | read16(b, at + 2);
}

// Calls visit(kind, option bytes) for each TCP option until it returns false. Returns false then,
// and when the options are malformed.
template <class Visit>
bool for_each_option(bytes options, Visit&& visit) {
    for (std::size_t i = 0; i < options.size();) {
        const std::uint8_t kind = options[i];
        if (kind == 0) return true;
        if (kind == 1) {
            ++i;
            continue;
        }
        if (i + 1 >= options.size() || options[i + 1] < 2 || i + options[i + 1] > options.size())
            return false;
        if (!visit(kind, options.subspan(i, options[i + 1]))) return false;
        i += options[i + 1];
    }
    return true;
}

}  // namespace wip::tcp
