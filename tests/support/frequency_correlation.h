// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <complex>
#include <cstddef>
#include <numbers>

#include "sample/delay_profile.h"

namespace wip::test {

// E h(f) h*(f + separation), of the mean profile.
inline std::complex<double> frequency_correlation(const sample_model::delay_profile& profile,
                                                  double separation_hz) {
    const auto power = profile.powers();
    std::complex<double> r;
    for (std::size_t i = 0; i < power.size(); ++i)
        r += std::polar(power[i], 2 * std::numbers::pi * separation_hz * profile.taps[i].delay_s);
    return r;
}

}  // namespace wip::test
