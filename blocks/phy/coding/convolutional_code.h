// SPDX-License-Identifier: GPL-3.0-or-later
// Code of the control region: constraint length 7, generators (171, 133) octal, ended by six zero
// bits, punctured to about 2/3.
//
// 256 information bits + 6 tail = 262 steps = 524 mother bits; 400 are sent. Step by step the two
// outputs (171 first) go out, except that in every second step (1, 3, .., 247) the second output is
// left out: 124 of the 131 pairs of steps are punctured, the last seven are not. Free distance 6.
//
// Decoding: soft Viterbi by VOLK's kernel volk_8u_x4_conv_k7_r2_8u (six-bit branch metrics; 262
// steps cost a few microseconds), trace-back from the zero state.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "phy/math/aligned.h"

namespace wip::phy {

inline constexpr int code_information_bits = 256;
inline constexpr int code_sent_bits = 400;

class convolutional_code {
public:
    convolutional_code();

    // One bit a byte, both ways.
    static void encode(std::span<const std::uint8_t, code_information_bits> bits,
                       std::span<std::uint8_t, code_sent_bits> sent) noexcept;

    // soft: positive = 0, in any scale (it is normalised to its own mean magnitude).
    void decode(std::span<const float, code_sent_bits> soft,
                std::span<std::uint8_t, code_information_bits> bits) noexcept;

private:
    static constexpr int steps = code_information_bits + 6;
    static constexpr int states = 64;
    aligned_vector<std::uint8_t> branch_table_, old_metrics_, new_metrics_, symbols_, decisions_;
};

}  // namespace wip::phy
