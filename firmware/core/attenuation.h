// SPDX-License-Identifier: GPL-3.0-or-later
// Attenuation in steps of a PE43711: 0.25 dB, 0 to 31.75 dB in one chip, 0 to 63.5 dB in two in
// series.
//
// Two in series fill up one after the other (first to its 31.75 dB, then the second): a step of
// 0.25 dB changes one chip only, so that nothing is between the two words on SPI. Equal shares
// would swing by a step twice for each step of theirs.
#pragma once

#include <compare>
#include <cstdint>

namespace wip::attenuator {

struct quarter_db {
    std::uint8_t value = 0;
    friend constexpr auto operator<=>(quarter_db, quarter_db) = default;
};

inline constexpr quarter_db max_of_chip{127};    // 31.75 dB
inline constexpr quarter_db max_in_series{254};  // 63.5 dB, two chips

// The eight bits of the chip's shift register: D0 is 0.25 dB, D6 16 dB, D7 stays 0. They go out
// with D0 first.
constexpr std::uint8_t spi_word(quarter_db a) { return a.value & 0x7f; }

struct series_shares {
    quarter_db first, second;
};
constexpr series_shares share_in_series(quarter_db whole) {
    if (whole <= max_of_chip) return {whole, {}};
    return {max_of_chip, {static_cast<std::uint8_t>(whole.value - max_of_chip.value)}};
}

}  // namespace wip::attenuator
