// SPDX-License-Identifier: GPL-3.0-or-later
// CRC-32 of IEEE 802.3 (zlib's), with a table of 16: 64 bytes of flash, a byte in two steps.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace wip::attenuator {

inline constexpr std::array<std::uint32_t, 16> crc32_table = [] {
    std::array<std::uint32_t, 16> table{};
    for (std::uint32_t n = 0; n < table.size(); ++n) {
        std::uint32_t c = n;
        for (int k = 0; k < 4; ++k) c = (c & 1) != 0 ? 0xedb88320u ^ c >> 1 : c >> 1;
        table[n] = c;
    }
    return table;
}();

constexpr std::uint32_t crc32(std::span<const std::uint8_t> bytes) {
    std::uint32_t c = 0xffffffffu;
    for (const std::uint8_t b : bytes) {
        c = crc32_table[(c ^ b) & 15] ^ c >> 4;
        c = crc32_table[(c ^ static_cast<std::uint32_t>(b >> 4)) & 15] ^ c >> 4;
    }
    return ~c;
}

}  // namespace wip::attenuator
