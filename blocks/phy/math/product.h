// SPDX-License-Identifier: GPL-3.0-or-later
// The product of two complex numbers with its roundings written down (types/multiply_add.h): GCC 12
// fuses those of neighbours by itself when it makes one instruction of them.
#pragma once

#include <complex>

#include "types/multiply_add.h"

namespace wip::phy {

inline std::complex<float> product(std::complex<float> a, std::complex<float> b) noexcept {
    return {multiply_add(a.real(), b.real(), -(a.imag() * b.imag())),
            multiply_add(a.real(), b.imag(), a.imag() * b.real())};
}

}  // namespace wip::phy
