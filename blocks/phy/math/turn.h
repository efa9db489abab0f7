// SPDX-License-Identifier: GPL-3.0-or-later
// e^(j radians), by one library call for both parts: separate calls of sine and cosine differ from
// it in the last bit, and some compilers join the two calls while others do not.
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
