// SPDX-License-Identifier: GPL-3.0-or-later
// The grant of a cell with several terminals, up to eight. It rides in the control region as the
// grant of one terminal does (types/grant.h), with a scrambling of its own, so that neither is ever
// taken for the other. 30 bytes of content:
//
//   12  frame number
//    8  served terminals, terminal 0 first: 1 = it has a section below
//   80  modulation of the bins, whoever owns them
//       for each bin in use, in bin order: its owner, the place of a terminal among those served,
//       in the truncated binary code of their number (none for one; 2: one bit; 3: 0, 10, 11; ...)
//       then for each served terminal in ascending order its section, about its own bins:
//         0 s(8)          first SN modulo 256
//         1 s(16) e(15)   first SN and window edge
//         0               no retransmission
//         1 f..           a flag for each of its bins: 1 = retransmission; then as in types/grant.h
//                         the boundaries of its new frames (0: of none), if it has any
//                         runs of older frames, each with 1 before it; 0 ends them
//    0  zero padding
//
// A terminal has SNs, window edge and boundaries of its own, so that its link knows nothing of the
// others. A section costs 11 or 34 bits beside its lists; docs/explanation/mac.md says how many
// terminals a slot serves.
//
// A short first SN is enough for a terminal that received a section not long ago: between that and
// the next one that it receives, first SN moves on by 255 at most, or the section is a full one.
// The base station counts from the last section that the terminal said it had received.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "types/grant.h"

namespace wip {

inline constexpr int most_terminals = 8;
// Instead of the number of a terminal: the cell has one, whose grant is that of types/grant.h.
inline constexpr int only_terminal = -1;

inline constexpr int short_sn_modulus = 256;
// Bits of a grant before owners and sections, and what a full section has more than a short one.
inline constexpr int common_grant_head = 12 + most_terminals + 80;
inline constexpr int full_section_bits = 8 + 15;

// The grant as it is written: the section of each terminal, nullptr: it is not served.
struct common_grant_sections {
    std::uint16_t frame_number = 0;
    std::array<const slot_grant*, most_terminals> of{};
};

// The grant as it is read: that of each terminal, `addressed` where it is served. Where the edge is
// not said, first SN is the short one, and the SNs that follow from it are to be moved (move_sns).
struct common_grant {
    std::uint16_t frame_number = 0;
    std::array<slot_grant, most_terminals> of{};
};

namespace detail {
// Truncated binary code of `value` of n: the first 2^(k+1) - n values have k bits, k = floor(log2
// n).
template <class Writer>
void put_truncated(Writer& w, std::uint32_t value, std::uint32_t n) {
    const int k = std::bit_width(n) - 1;
    const std::uint32_t shorter = (2U << k) - n;
    if (value < shorter)
        w.put(value, k);
    else
        w.put(value + shorter, k + 1);
}
inline std::uint32_t get_truncated(bit_reader& r, std::uint32_t n) {
    const int k = std::bit_width(n) - 1;
    const std::uint32_t shorter = (2U << k) - n;
    const std::uint32_t value = r.get(k);
    return value < shorter ? value : (value << 1 | r.get(1)) - shorter;
}

inline bool any_retransmission(const slot_grant& g) {
    for (const auto& b : g.bins)
        if (b.bits_per_symbol != 0 && b.retransmission) return true;
    return false;
}
inline bool any_frame(const slot_grant& g) {
    for (const auto& b : g.bins)
        if (b.bits_per_symbol != 0) return true;
    return false;
}

template <class Writer>
void put_section(Writer& w, const slot_grant& g, link_profile profile) {
    w.put(g.edge_said ? 1 : 0, 1);
    if (g.edge_said) {
        w.put(g.first_new_sn, 16);
        w.put(g.window_edge, 15);
    } else {
        w.put(g.first_new_sn % short_sn_modulus, 8);
    }
    const bool again = any_retransmission(g);
    w.put(again ? 1 : 0, 1);
    if (again) {
        put_flags(w, g);
        put_retransmissions(w, g, profile);
    }
    put_new_boundaries(w, g, profile, true);
    put_runs(w, g);
    w.put(0, 1);
}

inline bool get_section(bit_reader& r, slot_grant& g, link_profile profile) {
    g.addressed = true;
    g.edge_said = r.get(1) == 1;
    g.first_new_sn = static_cast<wire_sn>(r.get(g.edge_said ? 16 : 8));
    if (g.edge_said) g.window_edge = static_cast<std::uint16_t>(r.get(15));
    if (r.get(1) == 1) {
        get_flags(r, g);
        if (!any_retransmission(g)) return false;
    }
    if (!get_units(r, g, profile) || !r.ok() || !get_new_boundaries(r, g, profile)) return false;
    if (!get_runs(r, g, true)) return false;
    return g.edge_said || any_frame(g) || g.runs[0].frames > 0;  // else it says nothing
}
}  // namespace detail

// The first SN of a short section, for a terminal that had `before` in the last one it received.
constexpr wire_sn long_sn(wire_sn short_sn, wire_sn before) {
    return static_cast<wire_sn>(before + static_cast<std::uint8_t>(short_sn - before));
}

inline void move_sns(slot_grant& g, wire_sn first_new_sn) {
    const auto by = static_cast<wire_sn>(first_new_sn - g.first_new_sn);
    g.first_new_sn = first_new_sn;
    for (auto& b : g.bins)
        if (b.bits_per_symbol != 0) b.sn = static_cast<wire_sn>(b.sn + by);
    for (auto& run : g.runs)
        if (run.frames > 0) run.first = static_cast<wire_sn>(run.first + by);
}

// A terminal's way to the SNs of its sections.
class section_reader {
public:
    void forget() { known_ = false; }
    // False: a short section without a full one before it.
    bool take(slot_grant& g) {
        if (!g.addressed) return true;
        if (g.edge_said)
            known_ = true;
        else if (known_)
            move_sns(g, long_sn(g.first_new_sn, last_));
        else
            return false;
        last_ = g.first_new_sn;
        return true;
    }

private:
    bool known_ = false;
    wire_sn last_ = 0;  // first SN of the last section
};

// Bits of a terminal's section.
inline int section_bits(const slot_grant& g, link_profile profile) {
    bit_counter w;
    detail::put_section(w, g, profile);
    return w.bits();
}

// The most that the owners of so many bins take, of so many terminals served.
constexpr int most_owner_bits(int bins, int served) {
    return served < 2 ? 0 : bins * std::bit_width(static_cast<unsigned>(served - 1));
}

// To a bit_writer, or a bit_counter. No bin is used in two sections.
template <class Writer>
void put_common_grant(Writer& w, const common_grant_sections& g, link_profile profile) {
    w.put(g.frame_number, 12);
    std::uint32_t served = 0;
    std::array<const slot_grant*, nof_bins> user{};
    std::array<std::uint32_t, nof_bins> owner{};
    for (const slot_grant* section : g.of) {
        w.put(section != nullptr ? 1 : 0, 1);
        if (section == nullptr) continue;
        for (std::size_t b = 0; b < nof_bins; ++b)
            if (section->bins[b].bits_per_symbol != 0) {
                user[b] = section;
                owner[b] = served;
            }
        ++served;
    }
    detail::put_modulations(w, [&](std::size_t b) {
        return user[b] == nullptr ? std::uint8_t{0} : user[b]->bins[b].bits_per_symbol;
    });
    for (std::size_t b = 0; b < nof_bins; ++b)
        if (user[b] != nullptr) detail::put_truncated(w, owner[b], served);
    for (const slot_grant* section : g.of)
        if (section != nullptr) detail::put_section(w, *section, profile);
}

inline int common_grant_bits(const common_grant_sections& g, link_profile profile) {
    bit_counter w;
    put_common_grant(w, g, profile);
    return w.bits();
}

// Returns false when it does not fit.
inline bool pack_common_grant(const common_grant_sections& g, link_profile profile,
                              std::span<std::uint8_t, grant_bytes> out) {
    bit_writer w(out);
    put_common_grant(w, g, profile);
    return w.ok();
}

// nullopt when the bits are no grant that pack_common_grant could have written.
inline std::optional<common_grant> unpack_common_grant(
    std::span<const std::uint8_t, grant_bytes> in, link_profile profile) {
    bit_reader r(in);
    common_grant g;
    g.frame_number = static_cast<std::uint16_t>(r.get(12));
    std::array<slot_grant*, most_terminals> section{};
    std::uint32_t served = 0;
    for (slot_grant& s : g.of) {
        s.frame_number = g.frame_number;
        s.addressed = s.edge_said = false;
        if (r.get(1) == 1) section[served++] = &s;
    }
    std::array<std::uint8_t, nof_bins> modulation;
    if (!detail::get_modulations(r, modulation)) return std::nullopt;
    for (std::size_t b = 0; b < nof_bins; ++b) {
        if (modulation[b] == 0) continue;
        if (served == 0) return std::nullopt;
        section[detail::get_truncated(r, served)]->bins[b].bits_per_symbol = modulation[b];
    }
    for (std::uint32_t s = 0; s < served; ++s)
        if (!detail::get_section(r, *section[s], profile)) return std::nullopt;
    while (r.position() < grant_bytes * 8)
        if (r.get(1) != 0) return std::nullopt;
    return g;
}

}  // namespace wip
