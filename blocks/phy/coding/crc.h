// SPDX-License-Identifier: GPL-3.0-or-later
// The two checksums of the air interface, most significant bit first, table-driven.
//   frames:         CRC-24A of 3GPP TS 36.212 clause 5.1.1, 0x864CFB, register starts at 0. Length
//                   in nibbles, since frames are cut in nibbles. Eight bytes a step: each of the
//                   eight tables moves a byte's contribution over the bytes behind it.
//   control region: CRC-16 with 0x1021, register starts at 0xFFFF (as in X.25 without reflection)
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace wip::phy {

namespace detail {
inline constexpr std::uint32_t crc24_polynomial = 0x864cfb;

// The 24-bit register sits in the upper bits of 32.
constexpr auto make_crc24_tables() {
    std::array<std::array<std::uint32_t, 256>, 8> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t r = i << 24;
        for (int b = 0; b < 8; ++b) r = r << 1 ^ (r >> 31 ? crc24_polynomial << 8 : 0);
        t[0][i] = r;
    }
    for (std::size_t n = 1; n < 8; ++n)
        for (std::size_t i = 0; i < 256; ++i) t[n][i] = t[n - 1][i] << 8 ^ t[0][t[n - 1][i] >> 24];
    return t;
}
inline constexpr auto crc24_tables = make_crc24_tables();

constexpr auto make_crc16_table() {
    std::array<std::uint16_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
        std::uint32_t r = i << 8;
        for (int b = 0; b < 8; ++b) r = (r << 1 ^ (r >> 15 & 1 ? 0x1021U : 0U)) & 0xffff;
        t[i] = static_cast<std::uint16_t>(r);
    }
    return t;
}
inline constexpr auto crc16_table = make_crc16_table();
}  // namespace detail

// CRC of the first `nibbles` nibbles of `data`.
inline std::uint32_t crc24(const std::uint8_t* data, int nibbles) {
    const auto& t = detail::crc24_tables;
    std::uint32_t r = 0;
    int bytes = nibbles / 2;
    for (; bytes >= 8; bytes -= 8, data += 8) {
        const std::uint32_t a = r ^ (static_cast<std::uint32_t>(data[0]) << 24 |
                                     static_cast<std::uint32_t>(data[1]) << 16 |
                                     static_cast<std::uint32_t>(data[2]) << 8 | data[3]);
        r = t[7][a >> 24] ^ t[6][a >> 16 & 255] ^ t[5][a >> 8 & 255] ^ t[4][a & 255] ^
            t[3][data[4]] ^ t[2][data[5]] ^ t[1][data[6]] ^ t[0][data[7]];
    }
    for (; bytes > 0; --bytes) r = r << 8 ^ t[0][r >> 24 ^ *data++];
    if (nibbles % 2 != 0) {
        r ^= static_cast<std::uint32_t>(*data >> 4) << 28;
        r = r << 4 ^ t[0][r >> 28];
    }
    return r >> 8;
}

constexpr std::uint16_t crc16(std::span<const std::uint8_t> data) {
    std::uint32_t r = 0xffff;
    for (const auto byte : data) r = (r << 8 ^ detail::crc16_table[(r >> 8 ^ byte) & 255]) & 0xffff;
    return static_cast<std::uint16_t>(r);
}

}  // namespace wip::phy
