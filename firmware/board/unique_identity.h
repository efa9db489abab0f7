// SPDX-License-Identifier: GPL-3.0-or-later
// The 96 bits that a chip has of its own, as a serial number: 24 digits, the highest first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wip::board {

class unique_identity {
public:
    constexpr unique_identity() = default;
    constexpr explicit unique_identity(const std::array<std::uint32_t, 3>& words) {
        for (std::size_t k = 0; k < digits_.size(); ++k)
            digits_[k] = "0123456789ABCDEF"[words[2 - k / 8] >> (28 - 4 * (k % 8)) & 15];
    }
    constexpr std::string_view text() const { return {digits_.data(), digits_.size()}; }

private:
    std::array<char, 24> digits_{};
};

}  // namespace wip::board
