// SPDX-License-Identifier: GPL-3.0-or-later
// Sample time of a medium: ticks of 1 / 7.68 MHz since its clock started. `never` stands for no
// time at all.
#pragma once

#include <complex>
#include <cstdint>
#include <limits>

namespace wip::mix {

using tick = std::int64_t;
using cf32 = std::complex<float>;

inline constexpr double sample_rate = 7.68e6;
inline constexpr tick never = std::numeric_limits<tick>::max();
inline constexpr double default_frequency = 1e9;  // Hz, until a node tunes

}  // namespace wip::mix
