// SPDX-License-Identifier: GPL-3.0-or-later
// Maps the eight chips to channels. Channel n begins with chip n; where chips n and n+1 (n odd) are
// wired in series, channel n is both, and there is no channel n+1.
#pragma once

#include <array>
#include <cstdint>

#include "core/attenuation.h"

namespace wip::attenuator {

inline constexpr int nof_chips = 8;
inline constexpr int nof_switch_positions = 4;

// The level of each channel; entries beyond the last channel are not used.
using channel_levels = std::array<quarter_db, nof_chips>;

// A channel counted from 0, as in arrays; people and protocols count channels from 1.
struct channel_index {
    int value = 0;
};

class chip_layout {
public:
    constexpr chip_layout() = default;
    // Bit k: chips 2k and 2k+1 (from 0) are in series.
    constexpr explicit chip_layout(std::uint8_t series) : series_(series & 0x0f) {}

    constexpr std::uint8_t series() const { return series_; }
    constexpr bool in_series(channel_index c) const { return (series_ >> (c.value / 2) & 1) != 0; }
    constexpr bool exists(channel_index c) const {
        return c.value >= 0 && c.value < nof_chips && (c.value % 2 == 0 || !in_series(c));
    }
    constexpr std::uint8_t channels() const {
        std::uint8_t mask = 0;
        for (int c = 0; c < nof_chips; ++c)
            if (exists({c})) mask = static_cast<std::uint8_t>(mask | 1 << c);
        return mask;
    }
    constexpr quarter_db max_of(channel_index c) const {
        return in_series(c) ? max_in_series : max_of_chip;
    }
    constexpr channel_levels all_at_max() const {
        channel_levels levels{};
        for (int c = 0; c < nof_chips; ++c)
            if (exists({c})) levels[static_cast<unsigned>(c)] = max_of({c});
        return levels;
    }
    // The attenuation that a chip is set to.
    constexpr quarter_db level_of_chip(int chip, const channel_levels& levels) const {
        const channel_index c{in_series({chip}) ? chip & ~1 : chip};
        const quarter_db whole = levels[static_cast<unsigned>(c.value)];
        if (!in_series(c)) return whole;
        return chip % 2 == 0 ? share_in_series(whole).first : share_in_series(whole).second;
    }
    friend constexpr bool operator==(chip_layout, chip_layout) = default;

private:
    std::uint8_t series_ = 0;
};

}  // namespace wip::attenuator
