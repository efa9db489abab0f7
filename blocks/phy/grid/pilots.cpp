// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/grid/pilots.h"

#include <stdexcept>
#include <string>

#include "phy/grid/sequence.h"
#include "types/not_valid.h"

namespace wip::phy {

pilots::pilots(sender from) {
    if (from.cell < 0 || from.cell >= nof_cells)
        throw std::invalid_argument(not_valid("cell", std::to_string(from.cell), "0..63"));
    constexpr float a = 0.70710678F;
    for (int s = 0; s < slots_per_frame; ++s) {
        const auto key = pilot_key(from, s);
        for (unsigned p = 0; p < nof_pilots; ++p) {
            const auto word = sequence_word(key, 2 * p / 64);
            const bool i = word >> (63 - 2 * p % 64) & 1;
            const bool q = word >> (62 - 2 * p % 64) & 1;
            values_[static_cast<std::size_t>(s)][p] = {i ? a : -a, q ? a : -a};
        }
    }
}

}  // namespace wip::phy
