// SPDX-License-Identifier: GPL-3.0-or-later
// The grant of a slot: what every bin carries, as it rides in the control region (200 control
// symbols, jointly protected; the coding is in phy/control_region.h). 30 bytes of content:
//
//   12  frame number (slot / 30, modulo 4096; the slot within the frame comes from the pilots)
//   16  SN of the first new link frame in this slot
//   15  window edge: distance from that SN back to the oldest SN the sender still holds. Anything
//       older will never come (again)
//   80  modulation: 5 groups of 5 bins, each 16 bits = sum k_i 9^i, k_i = 0 (none) .. 8
//    n  one bit for each bin in use, in bin order: 1 = retransmission
//       then for each retransmission, in bin order:
//         SN   first one: gamma(first SN - SN); next ones: gamma(zigzag(SN - previous SN - 1) + 1)
//         0            the whole frame, at its first modulation
//         1 1 e        the fragment that starts where the previous retransmission's ended, same SN
//         1 0 oooooooo e   the fragment that starts at nibble o of the frame payload
//                      (e = 1: it reaches the end of the frame)
//    0  zero padding
//
// New frames need no SN each: they count up from the first one in bin order. A slot whose
// retransmissions do not fit into the 30 bytes cannot be packed: the scheduler sends fewer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "types/bit_io.h"
#include "types/frame.h"
#include "types/grid.h"

namespace wip {

inline constexpr int grant_bytes = 30;
inline constexpr int frame_number_modulus = 4096;
inline constexpr int max_window = 32767;

struct bin_grant {
    std::uint8_t bits_per_symbol = 0;  // 0 = bin not used
    bool retransmission = false;
    wire_sn sn = 0;
    bool whole = true;        // the whole frame; else the fragment that starts at `offset`
    std::uint8_t offset = 0;  // nibbles into the frame payload
    bool last = true;         // the unit reaches the end of the frame
    bool operator==(const bin_grant&) const = default;
};

struct slot_grant {
    std::uint16_t frame_number = 0;
    wire_sn first_new_sn = 0;
    std::uint16_t window_edge = 0;
    std::array<bin_grant, nof_bins> bins{};
    bool operator==(const slot_grant&) const = default;
};

constexpr std::uint16_t frame_number_of(slot s) {
    return static_cast<std::uint16_t>(s.value / slots_per_frame % frame_number_modulus);
}

namespace detail {
constexpr std::uint32_t zigzag(std::int32_t v) {
    return static_cast<std::uint32_t>(v) << 1 ^ static_cast<std::uint32_t>(v >> 31);
}
constexpr std::int32_t unzigzag(std::uint32_t v) {
    return static_cast<std::int32_t>(v >> 1) ^ -static_cast<std::int32_t>(v & 1);
}
}  // namespace detail

// Returns false when the retransmissions do not fit. Fields outside their range are a caller's bug.
// `profile` decides where a fragment ends, for the "starts where the previous one ended" code.
inline bool pack_grant(const slot_grant& g, link_profile profile,
                       std::span<std::uint8_t, grant_bytes> out) {
    bit_writer w(out);
    w.put(g.frame_number, 12);
    w.put(g.first_new_sn, 16);
    w.put(g.window_edge, 15);
    for (int group = 0; group < 5; ++group) {
        std::uint32_t value = 0;
        for (int i = 4; i >= 0; --i)
            value = value * 9 + g.bins[static_cast<std::size_t>(group * 5 + i)].bits_per_symbol;
        w.put(value, 16);
    }
    for (const auto& b : g.bins)
        if (b.bits_per_symbol != 0) w.put(b.retransmission ? 1 : 0, 1);
    const bin_grant* previous = nullptr;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || !b.retransmission) continue;
        if (previous == nullptr) {
            w.put_gamma(static_cast<wire_sn>(g.first_new_sn - b.sn));
        } else {
            const auto step = static_cast<std::int16_t>(static_cast<wire_sn>(b.sn - previous->sn));
            w.put_gamma(detail::zigzag(step - 1) + 1);
        }
        if (b.whole) {
            w.put(0, 1);
        } else {
            const bool follows =
                previous != nullptr && previous->sn == b.sn && !previous->whole &&
                b.offset ==
                    previous->offset + frame_payload_nibbles(profile, previous->bits_per_symbol);
            w.put(follows ? 3 : 2, 2);
            if (!follows) w.put(b.offset, 8);
            w.put(b.last ? 1 : 0, 1);
        }
        previous = &b;
    }
    return w.ok();
}

// nullopt when the bits are no grant that pack_grant could have written.
inline std::optional<slot_grant> unpack_grant(std::span<const std::uint8_t, grant_bytes> in,
                                              link_profile profile) {
    bit_reader r(in);
    slot_grant g;
    g.frame_number = static_cast<std::uint16_t>(r.get(12));
    g.first_new_sn = static_cast<wire_sn>(r.get(16));
    g.window_edge = static_cast<std::uint16_t>(r.get(15));
    for (int group = 0; group < 5; ++group) {
        std::uint32_t value = r.get(16);
        for (int i = 0; i < 5; ++i, value /= 9)
            g.bins[static_cast<std::size_t>(group * 5 + i)].bits_per_symbol =
                static_cast<std::uint8_t>(value % 9);
        if (value != 0) return std::nullopt;
    }
    for (auto& b : g.bins)
        if (b.bits_per_symbol != 0) b.retransmission = r.get(1) == 1;
    const bin_grant* previous = nullptr;
    wire_sn next_new = g.first_new_sn;
    for (auto& b : g.bins) {
        if (b.bits_per_symbol == 0) continue;
        if (!b.retransmission) {
            b.sn = next_new++;
            continue;
        }
        const std::uint32_t code = r.get_gamma();
        if (code > 0x1ffff) return std::nullopt;
        b.sn = previous == nullptr
                   ? static_cast<wire_sn>(g.first_new_sn - code)
                   : static_cast<wire_sn>(previous->sn + 1 + detail::unzigzag(code - 1));
        b.whole = r.get(1) == 0;
        if (!b.whole) {
            if (r.get(1) == 1) {
                if (previous == nullptr || previous->whole || previous->sn != b.sn)
                    return std::nullopt;
                const int end =
                    previous->offset + frame_payload_nibbles(profile, previous->bits_per_symbol);
                if (end > 255) return std::nullopt;
                b.offset = static_cast<std::uint8_t>(end);
            } else {
                b.offset = static_cast<std::uint8_t>(r.get(8));
            }
            b.last = r.get(1) == 1;
        }
        previous = &b;
    }
    if (!r.ok()) return std::nullopt;
    while (r.position() < grant_bytes * 8)
        if (r.get(1) != 0) return std::nullopt;
    return g;
}

}  // namespace wip
