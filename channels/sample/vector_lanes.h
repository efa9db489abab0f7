// SPDX-License-Identifier: GPL-3.0-or-later
// The compiler's vector type at the width of the machine. Elements are computed alike at any width.
#pragma once

namespace wip::sample_model {

#if defined(__AVX512F__)
inline constexpr int lanes = 16;
#elif defined(__AVX__)
inline constexpr int lanes = 8;
#else
inline constexpr int lanes = 4;
#endif
typedef float vec __attribute__((vector_size(lanes * sizeof(float))));

}  // namespace wip::sample_model
