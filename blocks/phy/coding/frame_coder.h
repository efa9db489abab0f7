// SPDX-License-Identifier: GPL-3.0-or-later
// A frame between its payload nibbles and the labels of its 108 symbols: CRC-24 behind the payload,
// scrambling over both, cut into labels of k bits, all most significant bit first.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "types/frame.h"

namespace wip::phy {

inline constexpr int nof_labels = payload_symbols_per_bin;
// 108 labels are 13.5 groups of eight: the arrays hold 14 groups.
inline constexpr int label_capacity = 112;
inline constexpr int frame_capacity = 112;  // bytes, 108 used at 8 bits a symbol
using label_array = std::array<std::uint8_t, label_capacity>;
using frame_array = std::array<std::uint8_t, frame_capacity>;

// `payload`: frame_payload_bytes(radio, k) bytes. `key`: payload_key of the unit.
void encode_frame(std::span<const std::uint8_t> payload, int bits_per_symbol, std::uint64_t key,
                  label_array& labels) noexcept;

// Writes the descrambled frame (payload, then CRC) and says whether the CRC holds. The payload part
// is cut clean: the unused low nibble of an odd payload's last byte is zero in `payload_out`.
bool decode_frame(const label_array& labels, int bits_per_symbol, std::uint64_t key,
                  frame_array& payload_out) noexcept;

}  // namespace wip::phy
