// SPDX-License-Identifier: GPL-3.0-or-later
#include "phy/coding/control_region.h"

#include <algorithm>
#include <cmath>

#include "phy/coding/crc.h"
#include "phy/grid/sequence.h"

namespace wip::phy {

namespace {

constexpr auto place_of = [] {
    std::array<std::uint16_t, code_sent_bits> p{};
    for (std::size_t j = 0; j < code_sent_bits; ++j)
        p[j] = static_cast<std::uint16_t>(153 * j % code_sent_bits);
    return p;
}();

constexpr int content_end = 8 * grant_bytes;
constexpr int least_content = 123;
// Both in units of the mean soft bit. The sum over the zeros of the padding has to reach
// `least_sum`. When the sum has dropped by `end_drop` from its maximum, the search for more zeros
// ends (a single 1 makes 7 ones in the code, which drop it by 9).
constexpr float least_sum = 12;
constexpr float end_drop = 3;
constexpr int guard = 20;  // bits of the padding next to the content that are not pinned
// Sum of the wrong soft bits among the zeros, relative to the sum of all.
constexpr float least_wrong_share = 0.005F;

}  // namespace

bool grant_due::fits(std::span<const std::uint8_t, grant_bytes> grant) const noexcept {
    bit_reader r(grant);
    const bool is_number_due = r.get(12) == frame_number;
    const auto step = static_cast<wire_sn>(r.get(16) - first_new_sn);
    const std::uint32_t edge = r.get(15);
    return is_number_due && step <= most_new && edge <= std::uint32_t{window_edge} + step;
}

void control_region::set_sender(sender from) noexcept {
    for (int s = 0; s < slots_per_frame; ++s) {
        const auto key = kind_ == control_kind::common_grant ? common_control_key(from.cell, s)
                                                             : control_key(from, s);
        auto& flip = scrambling_[static_cast<std::size_t>(s)];
        auto& sign = signs_[static_cast<std::size_t>(s)];
        for (unsigned q = 0; q < code_sent_bits; ++q) {
            flip[q] = sequence_word(key, q / 64) >> (63 - q % 64) & 1;
            sign[q] = flip[q] ? 1.F : -1.F;  // a positive coordinate is bit 1, to the decoder 0
        }
    }
}

void control_region::map(std::span<const std::uint8_t, code_information_bits> bits,
                         int slot_in_frame, control_symbols& out) const noexcept {
    std::array<std::uint8_t, code_sent_bits> coded;
    convolutional_code::encode(bits, coded);
    auto placed = scrambling_[static_cast<std::size_t>(slot_in_frame)];
    for (std::size_t j = 0; j < code_sent_bits; ++j) placed[place_of[j]] ^= coded[j];
    constexpr float a = 0.70710678F;
    for (std::size_t s = 0; s < nof_control_symbols; ++s)
        out[s] = {placed[2 * s] ? a : -a, placed[2 * s + 1] ? a : -a};
}

void control_region::encode(std::span<const std::uint8_t, grant_bytes> grant, int slot_in_frame,
                            control_symbols& out) const noexcept {
    const std::uint16_t crc = crc16(grant);
    std::array<std::uint8_t, code_information_bits> bits;
    for (std::size_t i = 0; i < code_information_bits; ++i)
        bits[i] = i < 240 ? grant[i / 8] >> (7 - i % 8) & 1 : crc >> (255 - i) & 1;
    map(bits, slot_in_frame, out);
}

void control_region::order(std::span<const float, code_sent_bits> soft, int slot_in_frame,
                           std::span<float, code_sent_bits> ordered) const noexcept {
    const auto& sign = signs_[static_cast<std::size_t>(slot_in_frame)];
    std::array<float, code_sent_bits> plain;
    for (std::size_t q = 0; q < code_sent_bits; ++q) plain[q] = sign[q] * soft[q];
    for (std::size_t j = 0; j < code_sent_bits; ++j) ordered[j] = plain[place_of[j]];
}

// The code of bit i is in steps i .. i + code_memory.
bit_run control_region::padding(std::span<const float, code_sent_bits> ordered) noexcept {
    const float half = mean_magnitude(ordered) / 2;
    float sum = 0, most = 0, wrong = 0, wrong_at_most = 0;
    int first = content_end;
    int n = first_sent(content_end);
    for (int step = content_end - 1; step >= least_content + code_memory; --step) {
        for (const int from = first_sent(step); n > from;) {
            const float s = ordered[static_cast<std::size_t>(--n)];
            sum += s - half;
            wrong += std::max(-s, 0.F);
        }
        if (sum < most - 2 * end_drop * half) break;
        if (sum <= most) continue;
        most = sum;
        wrong_at_most = wrong;
        first = step;
    }
    first = (first - code_memory + guard + 1) / 2 * 2;
    const bool seen = most > 2 * least_sum * half && wrong_at_most > least_wrong_share * most;
    if (!seen || first + code_memory > content_end) return {};
    return {first, content_end};
}

bool control_region::check(std::span<const float, code_sent_bits> ordered, bit_run zeros,
                           std::span<std::uint8_t, code_information_bits> bits,
                           std::span<std::uint8_t, grant_bytes> grant) noexcept {
    code_.decode(ordered, bits, zeros);
    std::array<std::uint8_t, code_information_bits / 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        unsigned byte = 0;
        for (std::size_t b = 0; b < 8; ++b)
            byte |= static_cast<unsigned>(bits[8 * i + b]) << (7 - b);
        bytes[i] = static_cast<std::uint8_t>(byte);
    }
    std::copy_n(bytes.begin(), grant_bytes, grant.begin());
    return crc16(grant) == (bytes[30] << 8 | bytes[31]);
}

bool control_region::decode(std::span<const float, code_sent_bits> ordered, int slot_in_frame,
                            const std::optional<grant_due>& due,
                            std::span<std::uint8_t, grant_bytes> grant,
                            control_symbols& sent_symbols) noexcept {
    std::array<std::uint8_t, code_information_bits> bits;
    const bit_run zeros = due ? padding(ordered) : bit_run{};
    if (!check(ordered, zeros, bits, grant)) return false;
    // The sender may have started anew, but only a grant that is decoded without the assumed zeros
    // may say so.
    if (zeros.size() != 0 && !due->fits(grant) && !check(ordered, {}, bits, grant)) return false;
    map(bits, slot_in_frame, sent_symbols);
    return true;
}

}  // namespace wip::phy
