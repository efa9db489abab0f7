// SPDX-License-Identifier: GPL-3.0-or-later
#include "wire/nibbles.h"

#include <cstring>

namespace wip {

// If source and destination have the same parity this is one memcpy; else eight bytes at a time are
// shifted by four bits through a big-endian word.
void copy_nibbles(std::uint8_t* to, std::size_t to_offset, const std::uint8_t* from,
                  std::size_t from_offset, std::size_t n) noexcept {
    if (n == 0) return;
    if (to_offset % 2 == 1) {  // bring the destination to a byte boundary
        set_nibble(to, to_offset, get_nibble(from, from_offset));
        ++to_offset, ++from_offset, --n;
    }
    std::uint8_t* out = to + to_offset / 2;
    const std::uint8_t* in = from + from_offset / 2;
    std::size_t bytes = n / 2;
    if (from_offset % 2 == 0) {
        std::memcpy(out, in, bytes);
    } else {
        while (bytes >= 8) {  // reads in[0..8], of which in[8] holds the last nibble
            std::uint64_t word;
            std::memcpy(&word, in, 8);
            word = __builtin_bswap64(word) << 4 | in[8] >> 4;
            word = __builtin_bswap64(word);
            std::memcpy(out, &word, 8);
            in += 8, out += 8, bytes -= 8;
        }
        for (; bytes > 0; --bytes, ++in)
            *out++ = static_cast<std::uint8_t>(in[0] << 4 | in[1] >> 4);
    }
    if (n % 2 == 1) set_nibble(to, to_offset + n - 1, get_nibble(from, from_offset + n - 1));
}

}  // namespace wip
