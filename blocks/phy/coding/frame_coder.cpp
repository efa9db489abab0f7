// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/coding/frame_coder.h"

#include <bit>
#include <cstring>

#include "phy/coding/crc.h"
#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {

std::uint64_t big_endian(std::uint64_t v) {
    if constexpr (std::endian::native == std::endian::little) return __builtin_bswap64(v);
    return v;
}

void scramble(frame_array& f, int bits_per_symbol, std::uint64_t key) {
    const int words = (frame_bits(bits_per_symbol) + 63) / 64;
    for (int i = 0; i < words; ++i) {
        std::uint64_t v;
        std::memcpy(&v, f.data() + 8 * i, 8);
        v ^= big_endian(sequence_word(key, static_cast<unsigned>(i)));
        std::memcpy(f.data() + 8 * i, &v, 8);
    }
}

// Eight labels of K bits are K bytes.
template <int K>
void cut(const frame_array& f, label_array& labels) {
    for (int group = 0; group < label_capacity / 8; ++group) {
        std::uint64_t v = 0;
        for (int b = 0; b < K; ++b) v = v << 8 | f[static_cast<std::size_t>(group * K + b)];
        for (int i = 0; i < 8; ++i)
            labels[static_cast<std::size_t>(group * 8 + i)] =
                static_cast<std::uint8_t>(v >> (K * (7 - i)) & ((1U << K) - 1));
    }
}

template <int K>
void join(const label_array& labels, frame_array& f) {
    for (int group = 0; group < label_capacity / 8; ++group) {
        std::uint64_t v = 0;
        for (int i = 0; i < 8; ++i) v = v << K | labels[static_cast<std::size_t>(group * 8 + i)];
        for (int b = 0; b < K; ++b)
            f[static_cast<std::size_t>(group * K + b)] =
                static_cast<std::uint8_t>(v >> (8 * (K - 1 - b)));
    }
}

using cut_fn = void (*)(const frame_array&, label_array&);
using join_fn = void (*)(const label_array&, frame_array&);
constexpr cut_fn cuts[] = {cut<1>, cut<2>, cut<3>, cut<4>, cut<5>, cut<6>, cut<7>, cut<8>};
constexpr join_fn joins[] = {join<1>, join<2>, join<3>, join<4>,
                             join<5>, join<6>, join<7>, join<8>};

}  // namespace

void encode_frame(std::span<const std::uint8_t> payload, int bits_per_symbol, std::uint64_t key,
                  label_array& labels) noexcept {
    const int nibbles = frame_payload_nibbles(link_profile::radio, bits_per_symbol);
    const int bytes = nibbles / 2;
    frame_array f;
    std::memcpy(f.data(), payload.data(), payload.size());
    std::memset(f.data() + payload.size(), 0, f.size() - payload.size());
    const std::uint32_t crc = crc24(f.data(), nibbles);
    // Behind an odd nibble the CRC starts in the middle of a byte.
    auto* p = f.data() + bytes;
    if (nibbles % 2 == 0) {
        p[0] = static_cast<std::uint8_t>(crc >> 16);
        p[1] = static_cast<std::uint8_t>(crc >> 8);
        p[2] = static_cast<std::uint8_t>(crc);
    } else {
        p[0] = static_cast<std::uint8_t>((p[0] & 0xf0) | crc >> 20);
        p[1] = static_cast<std::uint8_t>(crc >> 12);
        p[2] = static_cast<std::uint8_t>(crc >> 4);
        p[3] = static_cast<std::uint8_t>(crc << 4);
    }
    scramble(f, bits_per_symbol, key);
    cuts[bits_per_symbol - 1](f, labels);
}

bool decode_frame(const label_array& labels, int bits_per_symbol, std::uint64_t key,
                  frame_array& f) noexcept {
    joins[bits_per_symbol - 1](labels, f);
    scramble(f, bits_per_symbol, key);
    // The register over payload and CRC is zero when they agree.
    const int nibbles = frame_payload_nibbles(link_profile::radio, bits_per_symbol);
    const bool good = crc24(f.data(), nibbles + frame_crc_bits / 4) == 0;
    if (nibbles % 2 != 0) f[static_cast<std::size_t>(nibbles / 2)] &= 0xf0;
    return good;
}

}  // namespace wip::phy
