// SPDX-License-Identifier: GPL-3.0-or-later
#include "test_pattern.h"

#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "types/require.h"
#include "types/splitmix64.h"

namespace wip {

test_pattern::test_pattern(const test_pattern_config& config) : config_(config) {
    check_range("transmissions", config_.transmissions, 1, most_transmissions);
    set_slot(config_.modulation, config_.bins);
}

void test_pattern::set_slot(int modulation, std::vector<int> bins) {
    check_range("modulation", modulation, 1, max_bits_per_symbol);
    if (bins.empty()) {
        bins.resize(nof_bins);
        std::iota(bins.begin(), bins.end(), 0);
    }
    for (int previous = -1; const int bin : bins) {
        if (bin <= previous || bin >= nof_bins)
            throw std::invalid_argument("bins has " + std::to_string(bin) +
                                        ", which is out of order or outside 0..24; valid: "
                                        "ascending indexes 0..24");
        previous = bin;
    }
    config_.modulation = modulation;
    config_.bins = std::move(bins);
    grant_.bins = {};
    payload_ = {};
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
    number_frames(air);
    const std::size_t size = bytes_.size() / config_.bins.size();
    for (std::size_t i = 0; i < config_.bins.size(); ++i) {
        const wire_sn sn = grant_.bins[static_cast<std::size_t>(config_.bins[i])].sn;
        frame_content(config_.seed, sn, config_.modulation,
                      std::span(bytes_).subspan(i * size, size));
    }
}

void test_pattern::number_frames(slot air) {
    const auto nof_frames = static_cast<wire_sn>(config_.bins.size());
    bool is_retransmission = false;
    wire_sn first = next_sn_;
    if (config_.transmissions == 1) {
        next_sn_ = static_cast<wire_sn>(next_sn_ + nof_frames);
        grant_.first_new_sn = first;
    } else {
        const std::int64_t length = loop_slots * config_.transmissions;
        const auto oldest = static_cast<wire_sn>(air.value / length * loop_slots *
                                                 nof_frames);  // of these `length` slots
        is_retransmission = air.value % length >= loop_slots;
        first = static_cast<wire_sn>(oldest + air.value % loop_slots * nof_frames);
        grant_.first_new_sn =
            is_retransmission ? static_cast<wire_sn>(oldest + loop_slots * nof_frames) : first;
        grant_.window_edge = static_cast<wire_sn>(grant_.first_new_sn - oldest);
    }
    for (const int bin : config_.bins) {
        auto& granted = grant_.bins[static_cast<std::size_t>(bin)];
        granted.sn = first++;
        granted.retransmission = is_retransmission;
    }
}

// Random bits, started at a point that depends on seed and SN.
void test_pattern::frame_content(std::uint64_t seed, wire_sn sn, int bits_per_symbol,
                                 std::span<std::uint8_t> out) {
    splitmix64 bits((seed << 16 | sn) * 0xd1342543de82ef95U);
    for (std::size_t i = 0; i < out.size(); i += 8) {
        std::uint64_t z = bits.next();
        for (std::size_t j = i; j < i + 8 && j < out.size(); ++j, z >>= 8)
            out[j] = static_cast<std::uint8_t>(z);
    }
    if (frame_payload_nibbles(profile, bits_per_symbol) % 2 != 0 && !out.empty())
        out.back() &= 0xf0;
}

}  // namespace wip
