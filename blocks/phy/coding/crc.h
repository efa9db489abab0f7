// SPDX-License-Identifier: GPL-3.0-or-later
// The two checksums of the air interface, most significant bit first, table-driven.
//   frames:         CRC-24A of 3GPP TS 36.212 clause 5.1.1, 0x864CFB, register starts at 0. Length
//                   in nibbles, since frames are cut in nibbles. Eight bytes a step: each of the
//                   eight tables moves a byte's contribution over the bytes behind it. The check
//                   multiplies words by powers of x instead where the processor can, all at once.
//   control region: CRC-16 with 0x1021, register starts at 0xFFFF (as in X.25 without reflection)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#ifdef __PCLMUL__
#include <wmmintrin.h>
#endif

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
constexpr std::uint32_t crc24_step(std::uint32_t r, std::uint64_t word) {
    const auto& t = crc24_tables;
    const std::uint64_t v = word ^ std::uint64_t{r} << 32;
    return t[7][v >> 56] ^ t[6][v >> 48 & 255] ^ t[5][v >> 40 & 255] ^ t[4][v >> 32 & 255] ^
           t[3][v >> 24 & 255] ^ t[2][v >> 16 & 255] ^ t[1][v >> 8 & 255] ^ t[0][v & 255];
}

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
    for (; bytes >= 8; bytes -= 8) {
        std::uint64_t word = 0;
        for (int i = 0; i < 8; ++i) word = word << 8 | *data++;
        r = detail::crc24_step(r, word);
    }
    for (; bytes > 0; --bytes) r = r << 8 ^ t[0][r >> 24 ^ *data++];
    if (nibbles % 2 != 0) {
        r ^= static_cast<std::uint32_t>(*data >> 4) << 28;
        r = r << 4 ^ t[0][r >> 28];
    }
    return r >> 8;
}

// Whether the CRC of these words, the first bit most significant, is 0.
template <std::size_t Words>
bool crc24_divides(const std::array<std::uint64_t, Words>& word) {
#ifdef __PCLMUL__
    // x^(64 i) modulo the polynomial.
    static constexpr auto power = [] {
        std::array<std::uint32_t, Words + 1> p{1};
        for (std::size_t i = 1; i <= Words; ++i)
            p[i] = detail::crc24_step(0, std::uint64_t{p[i - 1]} << 40) >> 8;
        return p;
    }();
    const auto times = [](std::uint64_t a, std::uint32_t b) {
        return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(a)),
                                    _mm_cvtsi32_si128(static_cast<int>(b)), 0);
    };
    __m128i sum{};
    for (std::size_t i = 0; i < Words; ++i) sum ^= times(word[i], power[Words - 1 - i]);
    sum ^= times(static_cast<std::uint64_t>(sum[1]), power[1]);
    return detail::crc24_step(0, static_cast<std::uint64_t>(sum[0])) == 0;
#else
    std::uint32_t r = 0;
    for (const auto w : word) r = detail::crc24_step(r, w);
    return r == 0;
#endif
}

constexpr std::uint16_t crc16(std::span<const std::uint8_t> data) {
    std::uint32_t r = 0xffff;
    for (const auto byte : data) r = (r << 8 ^ detail::crc16_table[(r >> 8 ^ byte) & 255]) & 0xffff;
    return static_cast<std::uint16_t>(r);
}

}  // namespace wip::phy
