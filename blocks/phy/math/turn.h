// SPDX-License-Identifier: GPL-3.0-or-later
// e^(j radians). One call of the library for both parts: sine and cosine asked for by themselves
// differ from it in the last bit, and compilers differ in whether they join the two calls.
#pragma once

#include <math.h>  // sincos, which <cmath> need not have in std

#include <complex>

namespace wip::phy {

inline std::complex<double> turn_by(double radians) noexcept {
    double sine, cosine;
    ::sincos(radians, &sine, &cosine);
    return {cosine, sine};
}

}  // namespace wip::phy
