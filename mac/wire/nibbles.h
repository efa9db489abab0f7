// SPDX-License-Identifier: GPL-3.0-or-later
// Copies of nibble strings. Frames hold a whole number of nibbles but not of bytes (types/frame.h),
// so every second frame boundary falls inside a byte. Nibble i of a buffer is the high half of byte
// i / 2 when i is even.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wip {

inline std::uint8_t get_nibble(const std::uint8_t* data, std::size_t i) noexcept {
    return static_cast<std::uint8_t>(i % 2 == 0 ? data[i / 2] >> 4 : data[i / 2] & 0xf);
}

inline void set_nibble(std::uint8_t* data, std::size_t i, std::uint8_t value) noexcept {
    data[i / 2] = static_cast<std::uint8_t>(i % 2 == 0 ? (data[i / 2] & 0x0f) | value << 4
                                                       : (data[i / 2] & 0xf0) | (value & 0xf));
}

// Copies n nibbles; leaves every other nibble of the destination as it is. No overlap.
void copy_nibbles(std::uint8_t* to, std::size_t to_offset, const std::uint8_t* from,
                  std::size_t from_offset, std::size_t n) noexcept;

}  // namespace wip
