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

// Words of the frame, descrambled, and zeros behind it; whether the CRC holds.
template <int K>
bool join(const label_array& labels, std::uint64_t key, frame_array& f) {
    constexpr std::size_t words = (frame_bits(K) + 63) / 64;
    constexpr std::uint64_t bytes = 0x00ff00ff00ff00ff, pairs = 0x0000ffff0000ffff;
    std::array<std::uint64_t, label_capacity / 8> group;
    std::memcpy(group.data(), labels.data(), labels.size());
    for (auto& v : group) {
        v = big_endian(v);
        v = (v >> 8 & bytes) << K | (v & bytes);
        v = (v >> 16 & pairs) << 2 * K | (v & pairs);
        v = v >> 32 << 4 * K | (v & 0xffffffff);
    }
    std::array<std::uint64_t, words> word;
    for (unsigned i = 0; i < words; ++i) word[i] = sequence_word(key, i);
    for (std::size_t g = 0, at = 0; g < group.size(); ++g, at += 8 * K) {
        const std::size_t i = at / 64, end = at % 64 + 8 * K;
        if (i < words) word[i] ^= end <= 64 ? group[g] << (64 - end) : group[g] >> (end - 64);
        if (i + 1 < words && end > 64) word[i + 1] ^= group[g] << (128 - end);
    }
    if constexpr (frame_bits(K) % 64 != 0)
        word.back() &= ~std::uint64_t{0} << (64 - frame_bits(K) % 64);
    const bool good = crc24_divides(word);
    for (auto& w : word) w = big_endian(w);
    std::memcpy(f.data(), word.data(), sizeof word);
    return good;
}

using cut_fn = void (*)(const frame_array&, label_array&);
using join_fn = bool (*)(const label_array&, std::uint64_t, frame_array&);
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
    const bool good = joins[bits_per_symbol - 1](labels, key, f);
    const int nibbles = frame_payload_nibbles(link_profile::radio, bits_per_symbol);
    if (nibbles % 2 != 0) f[static_cast<std::size_t>(nibbles / 2)] &= 0xf0;
    return good;
}

}  // namespace wip::phy
