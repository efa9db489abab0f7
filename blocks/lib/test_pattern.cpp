// SPDX-License-Identifier: GPL-3.0-or-later
#include "test_pattern.h"

#include <numeric>
#include <stdexcept>
#include <string>

namespace wip {

test_pattern::test_pattern(const test_pattern_config& config) : config_(config) {
    if (config_.modulation < 1 || config_.modulation > max_bits_per_symbol)
        throw std::invalid_argument("modulation: " + std::to_string(config_.modulation) +
                                    " is outside 1 .. 8 bits per symbol");
    if (config_.bins.empty()) {
        config_.bins.resize(nof_bins);
        std::iota(config_.bins.begin(), config_.bins.end(), 0);
    }
    for (int previous = -1; const int bin : config_.bins) {
        if (bin <= previous || bin >= nof_bins)
            throw std::invalid_argument("bins: " + std::to_string(bin) +
                                        " is out of order or outside 0 .. 24");
        previous = bin;
    }
    const auto size = static_cast<std::size_t>(frame_payload_bytes(profile, config_.modulation));
    bytes_.resize(size * config_.bins.size());
    for (std::size_t i = 0; i < config_.bins.size(); ++i) {
        const auto b = static_cast<std::size_t>(config_.bins[i]);
        grant_.bins[b].bits_per_symbol = static_cast<std::uint8_t>(config_.modulation);
        payload_[b] = std::span(bytes_).subspan(i * size, size);
    }
}

void test_pattern::next(slot air) {
    grant_.frame_number = frame_number_of(air);
    grant_.first_new_sn = next_sn_;
    const std::size_t size = bytes_.size() / config_.bins.size();
    for (std::size_t i = 0; i < config_.bins.size(); ++i) {
        const wire_sn sn = next_sn_++;
        grant_.bins[static_cast<std::size_t>(config_.bins[i])].sn = sn;
        frame_content(config_.seed, sn, config_.modulation,
                      std::span(bytes_).subspan(i * size, size));
    }
}

// splitmix64 (Steele, Lea, Flood 2014), started at a point that depends on seed and SN.
void test_pattern::frame_content(std::uint64_t seed, wire_sn sn, int bits_per_symbol,
                                 std::span<std::uint8_t> out) {
    std::uint64_t x = (seed << 16 | sn) * 0xd1342543de82ef95U;
    for (std::size_t i = 0; i < out.size(); i += 8) {
        std::uint64_t z = x += 0x9e3779b97f4a7c15U;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
        z = (z ^ z >> 27) * 0x94d049bb133111ebU;
        z ^= z >> 31;
        for (std::size_t j = i; j < i + 8 && j < out.size(); ++j, z >>= 8)
            out[j] = static_cast<std::uint8_t>(z);
    }
    if (frame_payload_nibbles(profile, bits_per_symbol) % 2 != 0 && !out.empty())
        out.back() &= 0xf0;
}

}  // namespace wip
