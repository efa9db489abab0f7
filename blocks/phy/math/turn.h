// SPDX-License-Identifier: GPL-3.0-or-later
// Angles, rotations and decibels, by functions of the mathematical library whose results depend
// neither on the compiler nor on the version of the library. Functions of `double` are used for
// angles and logarithms of `float`, too: glibc 2.41 rounds atan2f and log10f correctly, earlier
// versions do not, and a last bit decides where two Doppler frequencies explain the past equally
// well.
#pragma once

#include <math.h>  // sincos, which <cmath> need not have in std

#include <cmath>
#include <complex>

namespace wip::phy {

// e^(j radians). It is one call of the library for both parts: sine and cosine asked for by
// themselves differ from it in the last bit, and compilers differ in whether they join the two
// calls.
inline std::complex<double> turn_by(double radians) noexcept {
    double sine, cosine;
    ::sincos(radians, &sine, &cosine);
    return {cosine, sine};
}

// The angle of a complex number in radians, -pi to pi.
inline float angle_of(std::complex<float> z) noexcept {
    return static_cast<float>(std::atan2(double{z.imag()}, double{z.real()}));
}

// A ratio of powers in dB.
inline float decibels(float ratio) noexcept {
    return static_cast<float>(10 * std::log10(double{ratio}));
}

}  // namespace wip::phy
