// SPDX-License-Identifier: GPL-3.0-or-later
// The uplink grant: it says what a terminal sends in a slot of an uplink by radio. It is the last
// 56 bits of a downlink grant, where the lists of that grant leave them free.
//
//   16  SN of the first new frame
//    9  window edge: distance from that SN back to the oldest SN that the base station expects
//    3  k - 1, the modulation of all bins in use
//    5  bins in use, 0..25: bin floor(25 i / bins) for i = 0, 1, ...
//    3  timing step, two's complement: samples by which the terminal sends later from then on
//    2  power step, two's complement, dB
//    n  gamma(1 + retransmissions), which have the first bins in use; then their SNs, ascending:
//       gamma(first SN - SN), then gamma(SN - SN before)
//    0  zero padding, to 54 bits
//    1  zero: it is a full one (types/short_uplink_grant.h has the short ones)
//    1  one: an uplink grant is there
//
// Frames are sent again whole and at their first modulation. The base station knows what it has
// received; a terminal that misses a grant sends nothing. docs/reference/air-interface.md is the
// same for those who write a transmitter of their own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "types/bit_io.h"
#include "types/grant.h"

namespace wip {

inline constexpr int uplink_grant_bytes = 7;
// The last two bits say that a full one is there.
inline constexpr int uplink_grant_bits = 8 * uplink_grant_bytes - 2;
inline constexpr int most_uplink_window = 511;

struct uplink_grant {
    wire_sn first_new_sn = 0;
    std::uint16_t window_edge = 0;       // 0..511
    std::uint8_t bits_per_symbol = 1;    // 1..8
    std::uint8_t bins = 0;               // in use, 0..25
    std::int8_t timing_step = 0;         // -4..3 samples
    std::int8_t power_step_db = 0;       // -2..1
    std::uint8_t retransmissions = 0;    // 0..bins
    std::array<wire_sn, nof_bins> sn{};  // of the retransmissions, ascending; the others 0
    bool operator==(const uplink_grant&) const = default;
};

// The bins in use and their units.
inline slot_grant units_of(const uplink_grant& g) {
    slot_grant units;
    units.first_new_sn = g.first_new_sn;
    units.window_edge = g.window_edge;
    for (std::size_t i = 0; i < g.bins; ++i) {
        bin_grant& unit = units.bins[i * nof_bins / g.bins];
        unit.bits_per_symbol = g.bits_per_symbol;
        unit.retransmission = i < g.retransmissions;
        unit.sn = unit.retransmission
                      ? g.sn[i]
                      : static_cast<wire_sn>(g.first_new_sn + i - g.retransmissions);
    }
    return units;
}

// Puts it behind a downlink grant. False, and nothing is changed, where it does not fit: its fields
// are out of range, or the lists of the downlink grant need the room.
inline bool put_uplink_grant(const uplink_grant& g, packed_grant& grant) {
    const auto room = std::span(grant).last<uplink_grant_bytes>();
    if (std::ranges::any_of(room, [](std::uint8_t byte) { return byte != 0; })) return false;
    const bool valid = g.window_edge <= most_uplink_window && g.bits_per_symbol >= 1 &&
                       g.bits_per_symbol <= max_bits_per_symbol && g.bins <= nof_bins &&
                       g.retransmissions <= g.bins && g.timing_step >= -4 && g.timing_step <= 3 &&
                       g.power_step_db >= -2 && g.power_step_db <= 1;
    if (!valid) return false;
    std::array<std::uint8_t, uplink_grant_bytes> bits;
    bit_writer w(bits);
    w.put(g.first_new_sn, 16);
    w.put(g.window_edge, 9);
    w.put(g.bits_per_symbol - 1U, 3);
    w.put(g.bins, 5);
    w.put(static_cast<std::uint32_t>(g.timing_step) & 7U, 3);
    w.put(static_cast<std::uint32_t>(g.power_step_db) & 3U, 2);
    w.put_gamma(g.retransmissions + 1U);
    std::uint32_t left = g.window_edge + 1U;  // SNs from there to the first new one
    for (std::size_t i = 0; i < g.retransmissions; ++i) {
        const auto back = static_cast<wire_sn>(g.first_new_sn - g.sn[i]);
        if (back == 0 || back >= left) return false;
        w.put_gamma(i == 0 ? back : left - back);
        left = back;
    }
    if (!w.ok() || w.position() > uplink_grant_bits) return false;
    bits.back() |= 1;
    std::ranges::copy(bits, room.begin());
    return true;
}

// Takes it away, which leaves the downlink grant; nullopt: there is no full one, or one that no
// base station would write.
inline std::optional<uplink_grant> take_uplink_grant(packed_grant& grant) {
    const auto room = std::span(grant).last<uplink_grant_bytes>();
    if ((room.back() & 3) != 1) return std::nullopt;
    std::array<std::uint8_t, uplink_grant_bytes> bits;
    std::ranges::copy(room, bits.begin());
    std::ranges::fill(room, std::uint8_t{0});
    bits.back() &= 0xfe;
    bit_reader r(bits);
    const auto with_sign = [&r](int width) {
        const auto value = static_cast<int>(r.get(width));
        return static_cast<std::int8_t>(value >= 1 << (width - 1) ? value - (1 << width) : value);
    };
    uplink_grant g;
    g.first_new_sn = static_cast<wire_sn>(r.get(16));
    g.window_edge = static_cast<std::uint16_t>(r.get(9));
    g.bits_per_symbol = static_cast<std::uint8_t>(r.get(3) + 1);
    g.bins = static_cast<std::uint8_t>(r.get(5));
    g.timing_step = with_sign(3);
    g.power_step_db = with_sign(2);
    const std::uint32_t retransmissions = r.get_gamma() - 1;
    if (!r.ok() || g.bins > nof_bins || retransmissions > g.bins) return std::nullopt;
    g.retransmissions = static_cast<std::uint8_t>(retransmissions);
    std::uint32_t left = g.window_edge + 1U;
    for (std::size_t i = 0; i < retransmissions; ++i) {
        const std::uint32_t step = r.get_gamma();
        if (!r.ok() || step >= left) return std::nullopt;
        left = i == 0 ? step : left - step;
        g.sn[i] = static_cast<wire_sn>(g.first_new_sn - left);
    }
    if (r.position() > uplink_grant_bits) return std::nullopt;
    while (r.position() < uplink_grant_bits)
        if (r.get(1) != 0) return std::nullopt;
    return g;
}

}  // namespace wip
