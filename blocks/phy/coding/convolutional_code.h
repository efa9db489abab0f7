// SPDX-License-Identifier: GPL-3.0-or-later
// Code of the control region: constraint length 7, generators (171, 133) octal, ended by six zero
// bits, punctured to about 2/3.
//
// 256 information bits + 6 tail = 262 steps = 524 mother bits; 400 are sent. Step by step the two
// outputs (171 first) go out, except that in every second step (1, 3, .., 247) the second output is
// left out: 124 of the 131 pairs of steps are punctured, the last seven are not. Free distance 6.
//
// Decoding: soft Viterbi by VOLK's kernel volk_8u_x4_conv_k7_r2_8u (six-bit branch metrics; 262
// steps cost a few microseconds), trace-back from the zero state. Information bits that are known
// to be zero are pinned: six of them bring the encoder to the zero state, so the code ends there
// and begins anew, and no error event runs through them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#include "phy/math/aligned.h"

namespace wip::phy {

inline constexpr int code_information_bits = 256;
inline constexpr int code_sent_bits = 400;
inline constexpr int code_memory = 6;

struct bit_run {
    int first = 0, last = 0;  // `last` is the bit after the run
    constexpr int size() const { return last - first; }
};

// The first of the sent bits of a step, 0 .. code_information_bits + code_memory.
constexpr int first_sent(int step) {
    return step + (step + 1) / 2 + (step > 248 ? (step - 248) / 2 : 0);
}

// Output 0 (171) or 1 (133) with the last seven bits in the encoder. The newest is the lowest, so
// the octal generators read backwards.
constexpr bool code_output(unsigned encoder, int which) {
    return std::popcount(encoder & (which == 0 ? 0x4fU : 0x6dU)) % 2 != 0;
}

// Mean of |soft|.
float mean_magnitude(std::span<const float, code_sent_bits> soft) noexcept;

class convolutional_code {
public:
    convolutional_code();

    // Input and output have one bit in each byte.
    static void encode(std::span<const std::uint8_t, code_information_bits> bits,
                       std::span<std::uint8_t, code_sent_bits> sent) noexcept;

    // soft: positive = 0, in any scale (it is normalised to its own mean magnitude). The bits of
    // `zeros` are taken as zero: none, or an even first one and at least code_memory of them.
    void decode(std::span<const float, code_sent_bits> soft,
                std::span<std::uint8_t, code_information_bits> bits, bit_run zeros = {}) noexcept;

private:
    static constexpr int steps = code_information_bits + code_memory;
    // Decodes the bits of the steps first .. last - 1; the code begins and ends in the zero state.
    void part(int first, int last, std::span<std::uint8_t, code_information_bits> bits) noexcept;
    static constexpr int states = 64;
    aligned_vector<std::uint8_t> branch_table_, old_metrics_, new_metrics_, symbols_, decisions_;
};

}  // namespace wip::phy
