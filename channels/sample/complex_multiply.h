// SPDX-License-Identifier: GPL-3.0-or-later
// out = in (re + j im), element by element, through separate arrays of real and imaginary parts: in
// the interleaved form some compilers merge product and sum (vfmaddsub) in the vector part of a
// loop and not in its tail, even with -ffp-contract=off. Then the last bit of a sample would depend
// on where a call ends, which the models exclude.
#pragma once

#include <complex>
#include <cstddef>

namespace wip::sample_model {

inline constexpr std::size_t multiply_block = 256;

// n <= multiply_block; in and out may be the same memory.
inline void multiply(const std::complex<float>* in, const float* re, const float* im,
                     std::complex<float>* out, std::size_t n) noexcept {
    alignas(64) float a[multiply_block], b[multiply_block];
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = in[i].real() * re[i] - in[i].imag() * im[i];
        b[i] = in[i].real() * im[i] + in[i].imag() * re[i];
    }
    for (std::size_t i = 0; i < n; ++i) out[i] = std::complex<float>(a[i], b[i]);
}

}  // namespace wip::sample_model
