// SPDX-License-Identifier: GPL-3.0-or-later
// a b + c with one rounding where the processor has an instruction for that, with two where it has
// none. Compilers differ in which products they fuse with which additions, and the last bit decides
// now and then; so the receiver is compiled with -ffp-contract=off, and its inner loops say what is
// fused.
#pragma once

#include "types/lanes.h"

#if defined(__AVX512F__) || defined(__FMA__)
#include <immintrin.h>
#elif defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
#include <arm_neon.h>
#endif

namespace wip {

#if defined(__AVX512F__)
inline lanes multiply_add(lanes a, lanes b, lanes c) noexcept { return _mm512_fmadd_ps(a, b, c); }
#elif defined(__FMA__)
inline lanes multiply_add(lanes a, lanes b, lanes c) noexcept { return _mm256_fmadd_ps(a, b, c); }
#elif defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
inline lanes multiply_add(lanes a, lanes b, lanes c) noexcept { return vfmaq_f32(c, a, b); }
#else
inline lanes multiply_add(lanes a, lanes b, lanes c) noexcept { return a * b + c; }
#endif
inline lanes multiply_add(lanes a, float b, lanes c) noexcept {
    return multiply_add(a, lanes{} + b, c);
}

// Loops of these become loops of vector instructions.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
inline float multiply_add(float a, float b, float c) noexcept { return __builtin_fmaf(a, b, c); }
inline double multiply_add(double a, double b, double c) noexcept { return __builtin_fma(a, b, c); }
#else
inline float multiply_add(float a, float b, float c) noexcept { return a * b + c; }
inline double multiply_add(double a, double b, double c) noexcept { return a * b + c; }
#endif

}  // namespace wip
