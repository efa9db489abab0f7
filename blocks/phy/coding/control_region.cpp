// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/coding/control_region.h"

#include <algorithm>

#include "phy/coding/crc.h"
#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {

constexpr auto place_of = [] {
    std::array<std::uint16_t, code_sent_bits> p{};
    for (std::size_t j = 0; j < code_sent_bits; ++j)
        p[j] = static_cast<std::uint16_t>(153 * j % code_sent_bits);
    return p;
}();

}  // namespace

void control_region::set_cell(int cell) noexcept {
    for (int s = 0; s < slots_per_frame; ++s) {
        const auto key = control_key(cell, s);
        for (unsigned q = 0; q < code_sent_bits; ++q)
            scrambling_[static_cast<std::size_t>(s)][q] =
                sequence_word(key, q / 64) >> (63 - q % 64) & 1;
    }
}

void control_region::map(std::span<const std::uint8_t, code_information_bits> bits,
                         int slot_in_frame, control_symbols& out) const noexcept {
    std::array<std::uint8_t, code_sent_bits> coded;
    convolutional_code::encode(bits, coded);
    auto placed = scrambling_[static_cast<std::size_t>(slot_in_frame)];
    for (std::size_t j = 0; j < code_sent_bits; ++j) placed[place_of[j]] ^= coded[j];
    constexpr float a = 0.70710678F;
    for (std::size_t s = 0; s < nof_control_symbols; ++s)
        out[s] = {placed[2 * s] ? a : -a, placed[2 * s + 1] ? a : -a};
}

void control_region::encode(std::span<const std::uint8_t, grant_bytes> grant, int slot_in_frame,
                            control_symbols& out) const noexcept {
    const std::uint16_t crc = crc16(grant);
    std::array<std::uint8_t, code_information_bits> bits;
    for (std::size_t i = 0; i < code_information_bits; ++i)
        bits[i] = i < 240 ? grant[i / 8] >> (7 - i % 8) & 1 : crc >> (255 - i) & 1;
    map(bits, slot_in_frame, out);
}

bool control_region::decode(std::span<const float, code_sent_bits> soft, int slot_in_frame,
                            std::span<std::uint8_t, grant_bytes> grant,
                            control_symbols& again) noexcept {
    const auto& flip = scrambling_[static_cast<std::size_t>(slot_in_frame)];
    // A positive coordinate is bit 1; the decoder wants positive = 0.
    std::array<float, code_sent_bits> ordered;
    for (std::size_t j = 0; j < code_sent_bits; ++j) {
        const auto q = place_of[j];
        ordered[j] = flip[q] ? soft[q] : -soft[q];
    }
    std::array<std::uint8_t, code_information_bits> bits;
    code_.decode(ordered, bits);
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < code_information_bits; ++i)
        bytes[i / 8] = static_cast<std::uint8_t>(bytes[i / 8] << 1 | bits[i]);
    const std::span all(bytes);
    if (crc16(all.first<grant_bytes>()) != (bytes[30] << 8 | bytes[31])) return false;
    std::copy_n(bytes.begin(), grant_bytes, grant.begin());
    map(bits, slot_in_frame, again);
    return true;
}

}  // namespace wip::phy
