// SPDX-License-Identifier: GPL-3.0-or-later
// The short form of an uplink grant (types/uplink_grant.h): it names an earlier uplink grant, its
// reference, by the number of slots since then, and says only what is different now. It has 18 bits
// where nothing is different and nothing is sent again, instead of 56.
//
// It is read backwards, from the last bit of the downlink grant on, so that it needs no length:
//
//    1  one: an uplink grant is there
//    1  one: it is a short one
//    5  slots since the reference - 1
//    7  first SN less first SN of the reference
//    1  window edge: 0 the terminal keeps the one that it knows
//       1 d(7)            distance from first SN back to it
//    1  allocation: 0 bins and modulation of the reference
//       1 u(5) m(3)       bins in use; k - 1
//    1  steps: 0 none
//       1 t(3) p(2)       timing and power step, as in a full grant
//    n  gamma(1 + retransmissions), then their SNs as in a full grant
//
// The reference is any uplink grant, full or short, that the base station knows to have been
// obeyed: the terminal's form has said that the grant of that slot was decoded, and a frame that it
// asked for has come. A terminal looks the slot up among those whose uplink grant it has obeyed.
// Where that slot is none of them, it does not know what is granted, and sends no frame. A slot has
// one uplink grant at most, so a terminal that has the slot has the base station's reference.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>

#include "types/bit_io.h"
#include "types/grant.h"
#include "types/uplink_grant.h"

namespace wip {

inline constexpr int longest_reference_age = 32;  // slots
inline constexpr int most_short_advance = 127;    // SNs since the reference
inline constexpr int most_short_window = 127;     // SNs, where the edge is said
// A short grant without any of its optional parts.
inline constexpr int least_short_bits = 18;
// What an allocation that differs from the reference's adds.
inline constexpr int short_allocation_bits = 8;
inline constexpr int most_short_bits = 8 * uplink_grant_bytes;

struct uplink_allocation {
    std::uint8_t bins = 0;             // 0..25
    std::uint8_t bits_per_symbol = 1;  // 1..8
    bool operator==(const uplink_allocation&) const = default;
};

struct short_uplink_grant {
    std::uint8_t age = 1;                        // slots since the reference, 1..32
    std::uint8_t advance = 0;                    // 0..127
    std::optional<std::uint8_t> window_edge;     // 0..127
    std::optional<uplink_allocation> changed;    // nullopt: that of the reference
    std::int8_t timing_step = 0;                 // -4..3 samples
    std::int8_t power_step_db = 0;               // -2..1
    std::uint8_t retransmissions = 0;            // 0..25
    std::array<std::uint16_t, nof_bins> back{};  // first SN - SN, descending; the others 0
    bool operator==(const short_uplink_grant&) const = default;
};

// The uplink grant of a slot, in one of its two forms.
using uplink_command = std::variant<uplink_grant, short_uplink_grant>;

// The part of a grant that later short ones refer to.
struct uplink_reference {
    wire_sn first_new_sn = 0;
    uplink_allocation allocated;
};
inline uplink_reference reference_of(const uplink_grant& g) {
    return {g.first_new_sn, {g.bins, g.bits_per_symbol}};
}

// The same grant in short, `age` slots after its reference. nullopt: a short grant cannot say it.
// `say_edge`: it carries the window edge.
inline std::optional<short_uplink_grant> shortened(const uplink_grant& g,
                                                   const uplink_reference& reference,
                                                   std::int64_t age, bool say_edge) {
    const auto advance = static_cast<wire_sn>(g.first_new_sn - reference.first_new_sn);
    if (age < 1 || age > longest_reference_age || advance > most_short_advance) return std::nullopt;
    if (say_edge && g.window_edge > most_short_window) return std::nullopt;
    short_uplink_grant s;
    s.age = static_cast<std::uint8_t>(age);
    s.advance = static_cast<std::uint8_t>(advance);
    if (say_edge) s.window_edge = static_cast<std::uint8_t>(g.window_edge);
    const uplink_allocation now{g.bins, g.bits_per_symbol};
    if (now != reference.allocated) s.changed = now;
    s.timing_step = g.timing_step;
    s.power_step_db = g.power_step_db;
    s.retransmissions = g.retransmissions;
    for (std::size_t i = 0; i < g.retransmissions; ++i)
        s.back[i] = static_cast<wire_sn>(g.first_new_sn - g.sn[i]);
    return s;
}

// The whole grant that a short one stands for. `known_edge`: the window edge that holds where it
// says none. nullopt: no base station writes it after this reference.
inline std::optional<uplink_grant> expanded(const short_uplink_grant& s,
                                            const uplink_reference& reference, wire_sn known_edge) {
    if (s.changed == reference.allocated) return std::nullopt;
    const auto allocated = s.changed.value_or(reference.allocated);
    uplink_grant g;
    g.first_new_sn = static_cast<wire_sn>(reference.first_new_sn + s.advance);
    g.window_edge = s.window_edge.value_or(0);
    if (!s.window_edge) {
        const auto distance = static_cast<wire_sn>(g.first_new_sn - known_edge);
        if (distance > most_uplink_window) return std::nullopt;
        g.window_edge = distance;
    }
    g.bins = allocated.bins;
    g.bits_per_symbol = allocated.bits_per_symbol;
    g.timing_step = s.timing_step;
    g.power_step_db = s.power_step_db;
    if (s.retransmissions > g.bins) return std::nullopt;
    if (s.retransmissions > 0 && s.back[0] > g.window_edge) return std::nullopt;
    g.retransmissions = s.retransmissions;
    for (std::size_t i = 0; i < g.retransmissions; ++i)
        g.sn[i] = static_cast<wire_sn>(g.first_new_sn - s.back[i]);
    return g;
}

namespace detail {
// To a bit_writer or a bit_counter, in the order in which it is read.
template <class Writer>
void put_short(Writer& w, const short_uplink_grant& s) {
    w.put(3, 2);
    w.put(s.age - 1U, 5);
    w.put(s.advance, 7);
    w.put(s.window_edge ? 1 : 0, 1);
    if (s.window_edge) w.put(*s.window_edge, 7);
    w.put(s.changed ? 1 : 0, 1);
    if (s.changed) {
        w.put(s.changed->bins, 5);
        w.put(s.changed->bits_per_symbol - 1U, 3);
    }
    const bool steps = s.timing_step != 0 || s.power_step_db != 0;
    w.put(steps ? 1 : 0, 1);
    if (steps) {
        w.put(static_cast<std::uint32_t>(s.timing_step) & 7U, 3);
        w.put(static_cast<std::uint32_t>(s.power_step_db) & 3U, 2);
    }
    w.put_gamma(s.retransmissions + 1U);
    for (std::size_t i = 0; i < s.retransmissions; ++i)
        w.put_gamma(static_cast<std::uint32_t>(i == 0 ? s.back[0] : s.back[i - 1] - s.back[i]));
}

// Whether every field is in its range, so that put_short() can write it.
inline bool is_valid(const short_uplink_grant& s) {
    if (s.age < 1 || s.age > longest_reference_age || s.advance > most_short_advance) return false;
    if (s.window_edge.value_or(0) > most_short_window) return false;
    if (s.changed && (s.changed->bins > nof_bins || s.changed->bits_per_symbol < 1 ||
                      s.changed->bits_per_symbol > max_bits_per_symbol))
        return false;
    if (s.timing_step < -4 || s.timing_step > 3 || s.power_step_db < -2 || s.power_step_db > 1)
        return false;
    if (s.retransmissions > (s.changed ? s.changed->bins : nof_bins)) return false;
    int left = 1 + (s.window_edge ? *s.window_edge : most_uplink_window);
    for (std::size_t i = 0; i < s.retransmissions; ++i) {
        if (s.back[i] < 1 || s.back[i] >= left) return false;
        left = s.back[i];
    }
    return true;
}

using uplink_grant_room = std::array<std::uint8_t, uplink_grant_bytes>;

inline uplink_grant_room backwards(std::span<const std::uint8_t, uplink_grant_bytes> bits) {
    uplink_grant_room out{};
    for (std::size_t i = 0; i < 8 * out.size(); ++i) {
        const std::size_t from = 8 * out.size() - 1 - i;
        const unsigned bit = bits[from / 8] >> (7 - from % 8) & 1U;
        out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | bit << (7 - i % 8));
    }
    return out;
}
}  // namespace detail

// Bits at the end of a downlink grant that it takes; its fields are in their ranges.
inline int bits_of(const short_uplink_grant& s) {
    bit_counter w;
    detail::put_short(w, s);
    return w.bits();
}
inline int bits_of(const uplink_command& c) {
    const auto* brief = std::get_if<short_uplink_grant>(&c);
    return brief != nullptr ? bits_of(*brief) : 8 * uplink_grant_bytes;
}

// Puts it behind a downlink grant. False, and nothing is changed, where it does not fit: its fields
// are out of range, or the lists of the downlink grant need the room.
inline bool put_uplink_command(const uplink_command& c, packed_grant& grant) {
    if (const auto* full = std::get_if<uplink_grant>(&c)) return put_uplink_grant(*full, grant);
    const auto& s = std::get<short_uplink_grant>(c);
    if (!detail::is_valid(s)) return false;
    const auto room = std::span(grant).last<uplink_grant_bytes>();
    detail::uplink_grant_room bits;
    bit_writer w(bits);
    detail::put_short(w, s);
    if (!w.ok()) return false;
    const auto used = detail::backwards(room);
    bit_reader there(used);
    for (std::size_t i = 0; i < w.position(); ++i)
        if (there.get(1) != 0) return false;
    const auto own = detail::backwards(bits);
    for (std::size_t i = 0; i < own.size(); ++i) room[i] |= own[i];
    return true;
}

// Takes the uplink grant away, which leaves the downlink grant. nullopt: there is none, or one that
// no base station would write; a short one of these stays, so that the downlink grant is refused
// for the bits behind its end.
inline std::optional<uplink_command> take_uplink_command(packed_grant& grant) {
    if ((grant.back() & 3) != 3) {
        const auto full = take_uplink_grant(grant);
        return full ? std::optional<uplink_command>(*full) : std::nullopt;
    }
    const auto room = std::span(grant).last<uplink_grant_bytes>();
    auto bits = detail::backwards(room);
    bit_reader r(bits);
    r.get(2);
    const auto with_sign = [&r](int width) {
        const auto value = static_cast<int>(r.get(width));
        return static_cast<std::int8_t>(value >= 1 << (width - 1) ? value - (1 << width) : value);
    };
    short_uplink_grant s;
    s.age = static_cast<std::uint8_t>(r.get(5) + 1);
    s.advance = static_cast<std::uint8_t>(r.get(7));
    if (r.get(1) == 1) s.window_edge = static_cast<std::uint8_t>(r.get(7));
    if (r.get(1) == 1) {
        auto& changed = s.changed.emplace();
        changed.bins = static_cast<std::uint8_t>(r.get(5));
        changed.bits_per_symbol = static_cast<std::uint8_t>(r.get(3) + 1);
    }
    if (r.get(1) == 1) {
        s.timing_step = with_sign(3);
        s.power_step_db = with_sign(2);
        if (s.timing_step == 0 && s.power_step_db == 0) return std::nullopt;
    }
    const std::uint32_t retransmissions = r.get_gamma() - 1;
    if (!r.ok() || retransmissions > nof_bins) return std::nullopt;
    s.retransmissions = static_cast<std::uint8_t>(retransmissions);
    std::uint32_t left = most_uplink_window + 1;
    for (std::size_t i = 0; i < retransmissions; ++i) {
        const std::uint32_t step = r.get_gamma();
        if (!r.ok() || step >= left) return std::nullopt;
        left = i == 0 ? step : left - step;
        s.back[i] = static_cast<std::uint16_t>(left);
    }
    if (!r.ok() || !detail::is_valid(s)) return std::nullopt;
    for (std::size_t i = 0; i < r.position(); ++i)
        bits[i / 8] &= static_cast<std::uint8_t>(~(0x80U >> i % 8));
    std::ranges::copy(detail::backwards(bits), room.begin());
    return s;
}

}  // namespace wip
