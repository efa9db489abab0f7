// SPDX-License-Identifier: GPL-3.0-or-later
// Amplitude of a subcarrier: 500 subcarriers of unit energy times this make samples of mean power
// nominal_transmit_level. (An unscaled inverse FFT adds the 500 powers.)
#pragma once

#include <cmath>

#include "types/db.h"
#include "types/grid.h"

namespace wip::phy {

inline float symbol_amplitude() {
    return static_cast<float>(std::sqrt(nominal_transmit_level.power() / nof_subcarriers));
}

}  // namespace wip::phy
