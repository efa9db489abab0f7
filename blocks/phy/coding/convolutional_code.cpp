// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/coding/convolutional_code.h"

#include <volk/volk.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "phy/math/lane_sum.h"

namespace wip::phy {

namespace {
constexpr bool second_is_sent(int step) { return first_sent(step + 1) - first_sent(step) == 2; }
}  // namespace

convolutional_code::convolutional_code()
    : branch_table_(states),
      old_metrics_(states),
      new_metrics_(states),
      symbols_(2 * steps),
      decisions_(static_cast<std::size_t>(steps) * states / 8) {
    for (unsigned j = 0; j < 2; ++j)
        for (unsigned s = 0; s < states / 2; ++s)
            branch_table_[j * states / 2 + s] = code_output(2 * s, static_cast<int>(j)) ? 255 : 0;
}

void convolutional_code::encode(std::span<const std::uint8_t, code_information_bits> bits,
                                std::span<std::uint8_t, code_sent_bits> sent) noexcept {
    // Both outputs of all steps are computed from shifted copies of the bits, without a state, so
    // that the compiler can vectorise the loop.
    std::array<std::uint8_t, code_memory + steps> run{};
    std::copy(bits.begin(), bits.end(), run.begin() + code_memory);
    std::array<std::array<std::uint8_t, steps>, 2> out;
    for (std::size_t t = 0; t < steps; ++t) {
        const auto back = [&](std::size_t n) { return run[t + code_memory - n]; };
        const unsigned both = back(0) ^ back(2) ^ back(3);
        out[0][t] = static_cast<std::uint8_t>(both ^ back(1) ^ back(6));
        out[1][t] = static_cast<std::uint8_t>(both ^ back(5) ^ back(6));
    }
    std::size_t n = 0;
    for (std::size_t t = 0; t < steps; ++t) {
        sent[n++] = out[0][t];
        if (second_is_sent(static_cast<int>(t))) sent[n++] = out[1][t];
    }
}

float mean_magnitude(std::span<const float, code_sent_bits> soft) noexcept {
    const float sum = lane_sum(code_sent_bits, [&](auto at) {
                          const auto s = at(soft.data());
                          return lane_terms{s < 0 ? -s : s};
                      }).of[0];
    return sum / code_sent_bits;
}

void convolutional_code::decode(std::span<const float, code_sent_bits> soft,
                                std::span<std::uint8_t, code_information_bits> bits,
                                bit_run zeros) noexcept {
    const float mean = mean_magnitude(soft);
    // The kernel keeps six of eight bits: the mean magnitude takes half of the range.
    const float scale = mean > 0 && std::isfinite(mean) ? -64 / mean : 0;
    // NaN becomes 0: std::max(0, NaN) returns its first argument.
    std::uint8_t quantised[code_sent_bits];
    for (std::size_t i = 0; i < code_sent_bits; ++i)
        quantised[i] =
            static_cast<std::uint8_t>(std::min(std::max(0.F, 127.5F + scale * soft[i]), 255.F));
    std::size_t n = 0;
    for (int t = 0; t < steps; ++t) {
        symbols_[static_cast<std::size_t>(2 * t)] = quantised[n++];
        symbols_[static_cast<std::size_t>(2 * t + 1)] = second_is_sent(t) ? quantised[n++] : 128;
    }
    if (zeros.size() == 0) return part(0, steps, bits);
    part(0, zeros.first + code_memory, bits);
    std::fill(bits.begin() + zeros.first, bits.begin() + zeros.last, std::uint8_t{0});
    part(zeros.last, steps, bits);
}

void convolutional_code::part(int first, int last,
                              std::span<std::uint8_t, code_information_bits> bits) noexcept {
    const auto count = static_cast<std::size_t>(last - first);
    std::fill(old_metrics_.begin(), old_metrics_.end(), std::uint8_t{63});
    old_metrics_[0] = 0;
    std::fill_n(decisions_.begin(), 8 * count, std::uint8_t{0});
    volk_8u_x4_conv_k7_r2_8u(new_metrics_.data(), old_metrics_.data(), symbols_.data() + 2 * first,
                             decisions_.data(), static_cast<unsigned>(count), 0,
                             branch_table_.data());
    unsigned state = 0;
    for (int t = last - 1; t >= first; --t) {
        if (t < code_information_bits) bits[static_cast<std::size_t>(t)] = state & 1;
        std::uint64_t d;
        std::memcpy(&d, decisions_.data() + 8 * (t - first), 8);
        state = state >> 1 | static_cast<unsigned>(d >> state & 1) << 5;
    }
}

}  // namespace wip::phy
