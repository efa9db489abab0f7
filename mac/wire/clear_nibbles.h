// SPDX-License-Identifier: GPL-3.0-or-later
// The padding behind a nibble string.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/nibbles.h"

namespace wip {

// Sets all nibbles of `out` from the nth on to zero; n is at most twice its bytes.
inline void clear_nibbles_from(std::span<std::uint8_t> out, std::size_t n) noexcept {
    if (n % 2 == 1) set_nibble(out.data(), n, 0);
    std::ranges::fill(out.subspan((n + 1) / 2), std::uint8_t{0});
}

}  // namespace wip
