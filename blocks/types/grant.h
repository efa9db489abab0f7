// SPDX-License-Identifier: GPL-3.0-or-later
// The grant of a slot says what every bin carries. It is sent in the 200 control symbols, jointly
// protected (phy/coding/control_region.h). Its content is 30 bytes:
//
//   12  frame number (slot / 30, modulo 4096; the slot within the frame comes from the pilots)
//   16  SN of the first new link frame in this slot
//   15  window edge: distance from that SN back to the oldest SN that the sender still holds. Older
//       frames will never be sent (again)
//   80  modulation: 5 groups of 5 bins, each 16 bits = sum k_i 9^i, k_i = 0 (none) .. 8
//    n  one bit for each bin in use, in bin order: 1 = retransmission
//       then for each retransmission, in bin order:
//         SN   first one: gamma(first SN - SN); next ones: gamma(zigzag(SN - previous SN - 1) + 1)
//         0            the whole frame, at its first modulation
//         1 1 e        the fragment that starts where the previous retransmission's ended, same SN
//         1 0 oooooooo e   the fragment that starts at nibble o of the frame payload
//                      (e = 1: it reaches the end of the frame)
//       then the packet boundaries of new frames (explained below), if needed and if there is room:
//         0            of no new frame; this bit is left out if nothing follows it
//         1 0          of all new frames
//         1 1 nnnnn    of the first n new frames
//         then for each of these frames with a boundary: gamma(1 + number of frames without one
//         right before it); 0 for nibble 0, else 1 and the nibble in as many bits as the frame's
//         length needs. If frames without one are left at the end: gamma(1 + their number)
//       then runs of older frames, in ascending order; for each run
//         1 gamma(first new SN - first SN of the run) for the first run, for later runs
//         1 gamma(first SN of the run - last SN of the run before)
//           gamma(number of frames in the run)
//           the boundary of the last frame: 0 none, 1 0 nibble 0, or 1 1 oooooooo nibble o; the
//           other frames of the run have none
//    0  zero padding
//
// New frames need no field for their SNs: these count up from the first SN, in bin order. A grant
// cannot be packed if its retransmissions need more than 30 bytes, so the scheduler plans fewer.
//
// The boundary of a frame is the first nibble at which a packet begins in it, or the padding after
// the last packet. A terminal that lost a part of the stream of packets cannot know where the next
// one begins, so grants contain this place. docs/reference/air-interface.md describes the same for
// authors of other receivers (tests/vectors).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "types/bit_io.h"
#include "types/control_content.h"
#include "types/frame.h"
#include "types/grid.h"

namespace wip {

inline constexpr int grant_bytes = control_content_bytes;
// The packed grant, as it is sent in the control region. The base station packs it once; every
// later stage passes these bytes on unchanged.
using packed_grant = control_content;
inline constexpr int frame_number_modulus = 4096;
inline constexpr int max_window = 32767;

// The boundary of a frame is a nibble, or one of these two values.
inline constexpr std::uint8_t no_boundary = 254;       // the frame has no boundary
inline constexpr std::uint8_t unknown_boundary = 255;  // the grant does not contain it

struct bin_grant {
    std::uint8_t bits_per_symbol = 0;  // 0 = bin not used
    bool retransmission = false;
    wire_sn sn = 0;
    bool whole = true;        // the whole frame; else the fragment that starts at `offset`
    std::uint8_t offset = 0;  // nibbles into the frame payload
    bool last = true;         // the unit reaches the end of the frame
    // The SDU boundary of a new frame. A grant contains the boundaries of the first new frames, in
    // bin order, up to some bin.
    std::uint8_t boundary = unknown_boundary;
    bool operator==(const bin_grant&) const = default;
};

// A run of older frames. Only its last frame may have a boundary.
struct boundary_run {
    wire_sn first = 0;
    std::uint16_t frames = 0;
    std::uint8_t boundary = no_boundary;
    bool operator==(const boundary_run&) const = default;
};
inline constexpr std::size_t most_boundary_runs = 8;

struct slot_grant {
    std::uint16_t frame_number = 0;
    wire_sn first_new_sn = 0;
    std::uint16_t window_edge = 0;
    std::array<bin_grant, nof_bins> bins{};
    std::array<boundary_run, most_boundary_runs> runs{};  // ascending; unused ones are at the end
    // Both are true in a cell with one terminal. A common grant (types/common_grant.h) may have no
    // section for this terminal (`addressed`), or a section without window edge (`edge_said`).
    bool addressed = true;
    bool edge_said = true;
    bool operator==(const slot_grant&) const = default;
};

constexpr std::uint16_t frame_number_of(slot s) {
    return static_cast<std::uint16_t>(s.value / slots_per_frame % frame_number_modulus);
}

// Makes the grant of a slot without frames from the last grant alone: the window edge stays, and
// the first SN is the one after the last grant's new frames. A receiver that has received later
// grants ignores that these values are older.
inline slot_grant quiet_grant(const slot_grant& last, slot air) {
    slot_grant quiet;
    quiet.frame_number = frame_number_of(air);
    int fresh = 0;
    for (const bin_grant& b : last.bins) fresh += b.bits_per_symbol != 0 && !b.retransmission;
    quiet.first_new_sn = static_cast<wire_sn>(last.first_new_sn + fresh);
    quiet.window_edge = static_cast<std::uint16_t>(last.window_edge + fresh);
    return quiet;
}

namespace detail {
constexpr std::uint32_t zigzag(std::int32_t v) {
    return static_cast<std::uint32_t>(v) << 1 ^ static_cast<std::uint32_t>(v >> 31);
}
constexpr std::int32_t unzigzag(std::uint32_t v) {
    return static_cast<std::int32_t>(v >> 1) ^ -static_cast<std::int32_t>(v & 1);
}
// Returns the code of a retransmission's SN. `previous` is the retransmission before it, if any.
inline std::uint32_t sn_code(const slot_grant& g, const bin_grant* previous, const bin_grant& b) {
    if (previous == nullptr) return static_cast<wire_sn>(g.first_new_sn - b.sn);
    const auto step = static_cast<std::int16_t>(static_cast<wire_sn>(b.sn - previous->sn));
    return zigzag(step - 1) + 1;
}
// Whether a fragment begins where the fragment of `previous` ends.
inline bool follows(link_profile profile, const bin_grant* previous, const bin_grant& b) {
    return previous != nullptr && previous->sn == b.sn && !previous->whole &&
           b.offset == previous->offset + frame_payload_nibbles(profile, previous->bits_per_symbol);
}
constexpr int gamma_bits(std::uint32_t v) { return 2 * std::bit_width(v) - 1; }

template <class Writer>
void put_boundary(Writer& w, std::uint8_t boundary, int width) {
    w.put(boundary == 0 ? 0 : 1, 1);
    if (boundary != 0) w.put(boundary, width);
}
// Returns nullopt if the frame has no such nibble, or if nibble 0 is written in the long form.
inline std::optional<std::uint8_t> get_boundary(bit_reader& r, int width, int nibbles) {
    if (r.get(1) == 0) return std::uint8_t{0};
    const std::uint32_t boundary = r.get(width);
    if (boundary == 0 || boundary >= static_cast<std::uint32_t>(nibbles)) return std::nullopt;
    return static_cast<std::uint8_t>(boundary);
}
// Returns the number of bits that a place (nibble) in such a frame takes.
constexpr int boundary_width(link_profile p, int bits_per_symbol) {
    return std::bit_width(static_cast<unsigned>(frame_payload_nibbles(p, bits_per_symbol) - 1));
}
inline constexpr int most_nibbles =
    frame_payload_nibbles(link_profile::wipemu, max_bits_per_symbol);

template <class Writer, class Modulation>
void put_modulations(Writer& w, const Modulation& of_bin) {
    for (std::size_t group = 0; group < 5; ++group) {
        std::uint32_t value = 0;
        for (std::size_t i = 5; i-- > 0;) value = value * 9 + of_bin(group * 5 + i);
        w.put(value, 16);
    }
}

// Returns false if a group is more than five digits of base 9 can express.
inline bool get_modulations(bit_reader& r, std::array<std::uint8_t, nof_bins>& modulation) {
    for (std::size_t group = 0; group < 5; ++group) {
        std::uint32_t value = r.get(16);
        for (std::size_t i = 0; i < 5; ++i, value /= 9)
            modulation[group * 5 + i] = static_cast<std::uint8_t>(value % 9);
        if (value != 0) return false;
    }
    return true;
}

template <class Writer>
void put_flags(Writer& w, const slot_grant& g) {
    for (const auto& b : g.bins)
        if (b.bits_per_symbol != 0) w.put(b.retransmission ? 1 : 0, 1);
}

inline void get_flags(bit_reader& r, slot_grant& g) {
    for (auto& b : g.bins)
        if (b.bits_per_symbol != 0) b.retransmission = r.get(1) == 1;
}

template <class Writer>
void put_retransmissions(Writer& w, const slot_grant& g, link_profile profile) {
    const bin_grant* previous = nullptr;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || !b.retransmission) continue;
        w.put_gamma(sn_code(g, previous, b));
        if (b.whole) {
            w.put(0, 1);
        } else {
            const bool goes_on = follows(profile, previous, b);
            w.put(goes_on ? 3 : 2, 2);
            if (!goes_on) w.put(b.offset, 8);
            w.put(b.last ? 1 : 0, 1);
        }
        previous = &b;
    }
}

// Reads the SNs and parts of all units. Returns false if no sender would write them in this way.
inline bool get_units(bit_reader& r, slot_grant& g, link_profile profile) {
    const bin_grant* previous = nullptr;
    wire_sn next_new = g.first_new_sn;
    for (auto& b : g.bins) {
        if (b.bits_per_symbol == 0) continue;
        if (!b.retransmission) {
            b.sn = next_new++;
            continue;
        }
        const std::uint32_t code = r.get_gamma();
        if (code > 0x1ffff) return false;
        b.sn = previous == nullptr ? static_cast<wire_sn>(g.first_new_sn - code)
                                   : static_cast<wire_sn>(previous->sn + 1 + unzigzag(code - 1));
        if (code != sn_code(g, previous, b)) return false;  // another code of the same SN
        b.whole = r.get(1) == 0;
        if (!b.whole) {
            if (r.get(1) == 1) {
                if (previous == nullptr || previous->whole || previous->sn != b.sn) return false;
                const int end =
                    previous->offset + frame_payload_nibbles(profile, previous->bits_per_symbol);
                if (end > 255) return false;
                b.offset = static_cast<std::uint8_t>(end);
            } else {
                b.offset = static_cast<std::uint8_t>(r.get(8));
                if (follows(profile, previous, b)) return false;
            }
            b.last = r.get(1) == 1;
        }
        previous = &b;
    }
    return true;
}

// `more` says that something follows, so that "no boundary" takes a bit of its own.
template <class Writer>
void put_new_boundaries(Writer& w, const slot_grant& g, link_profile profile, bool more) {
    int fresh = 0, with_boundary = 0;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || b.retransmission) continue;
        ++fresh;
        if (b.boundary != unknown_boundary) ++with_boundary;
    }
    if (with_boundary == 0) {
        if (fresh > 0 && more) w.put(0, 1);
        return;
    }
    w.put(with_boundary == fresh ? 2 : 3, 2);
    if (with_boundary < fresh) w.put(static_cast<std::uint32_t>(with_boundary), 5);
    std::uint32_t without = 0;
    for (const auto& b : g.bins) {
        if (b.bits_per_symbol == 0 || b.retransmission || b.boundary == unknown_boundary) continue;
        if (b.boundary == no_boundary) {
            ++without;
            continue;
        }
        w.put_gamma(without + 1);
        put_boundary(w, b.boundary, boundary_width(profile, b.bits_per_symbol));
        without = 0;
    }
    if (without > 0) w.put_gamma(without + 1);
}

inline bool get_new_boundaries(bit_reader& r, slot_grant& g, link_profile profile) {
    std::array<bin_grant*, nof_bins> fresh{};
    std::size_t n = 0;
    for (auto& b : g.bins)
        if (b.bits_per_symbol != 0 && !b.retransmission) fresh[n++] = &b;
    if (n == 0 || r.position() == grant_bytes * 8 || r.get(1) == 0) return true;
    std::size_t with_boundary = n;
    if (r.get(1) == 1) {
        with_boundary = r.get(5);
        if (with_boundary == 0 || with_boundary >= n) return false;
    }
    for (std::size_t i = 0; i < with_boundary;) {
        const std::size_t without = r.get_gamma() - 1;
        if (!r.ok() || without > with_boundary - i) return false;
        for (const std::size_t with = i + without; i < with; ++i) fresh[i]->boundary = no_boundary;
        if (i == with_boundary) return without > 0;
        const int k = fresh[i]->bits_per_symbol;
        const auto boundary =
            get_boundary(r, boundary_width(profile, k), frame_payload_nibbles(profile, k));
        if (!boundary) return false;
        fresh[i++]->boundary = *boundary;
    }
    return true;
}

template <class Writer>
void put_runs(Writer& w, const slot_grant& g) {
    wire_sn before = 0;
    for (std::size_t i = 0; i < g.runs.size() && g.runs[i].frames > 0; ++i) {
        const boundary_run& run = g.runs[i];
        w.put(1, 1);
        w.put_gamma(static_cast<wire_sn>(i == 0 ? g.first_new_sn - run.first : run.first - before));
        w.put_gamma(run.frames);
        w.put(run.boundary == no_boundary ? 0 : 1, 1);
        if (run.boundary != no_boundary) put_boundary(w, run.boundary, 8);
        before = static_cast<wire_sn>(run.first + run.frames - 1);
    }
}

// If `ended`, a zero always follows the last run; otherwise the grant's end also ends the list.
inline bool get_runs(bit_reader& r, slot_grant& g, bool ended) {
    std::uint32_t left = 0;  // distance from the last run's end to the first new SN
    for (std::size_t i = 0; ended || r.position() < grant_bytes * 8; ++i) {
        if (r.get(1) == 0) break;
        if (i == g.runs.size()) return false;
        const std::uint32_t step = r.get_gamma();
        if (i > 0 && step >= left) return false;
        left = i == 0 ? step : left - step;
        const std::uint32_t frames = r.get_gamma();
        if (!r.ok() || left > max_window || frames > left) return false;
        boundary_run& run = g.runs[i];
        run.first = static_cast<wire_sn>(g.first_new_sn - left);
        run.frames = static_cast<std::uint16_t>(frames);
        left -= frames - 1;
        if (r.get(1) == 0) continue;
        const auto boundary = get_boundary(r, 8, most_nibbles);
        if (!boundary) return false;
        run.boundary = *boundary;
    }
    return r.ok();
}
}  // namespace detail

// Returns the bits that a run takes in a grant whose first new frame is `first_new_sn`. `before` is
// the run before it, or nullptr.
constexpr int boundary_run_bits(const boundary_run& run, const boundary_run* before,
                                wire_sn first_new_sn) {
    const auto step = before == nullptr
                          ? static_cast<wire_sn>(first_new_sn - run.first)
                          : static_cast<wire_sn>(run.first - before->first - before->frames + 1);
    return 1 + detail::gamma_bits(step) + detail::gamma_bits(run.frames) +
           (run.boundary == no_boundary ? 1
            : run.boundary == 0         ? 2
                                        : 10);
}

// Writes the grant to a bit_writer or a bit_counter. Fields outside their range are an error of the
// caller. `profile` decides the lengths of frames.
template <class Writer>
void put_grant(Writer& w, const slot_grant& g, link_profile profile) {
    w.put(g.frame_number, 12);
    w.put(g.first_new_sn, 16);
    w.put(g.window_edge, 15);
    detail::put_modulations(w, [&](std::size_t b) { return g.bins[b].bits_per_symbol; });
    detail::put_flags(w, g);
    detail::put_retransmissions(w, g, profile);
    detail::put_new_boundaries(w, g, profile, g.runs[0].frames > 0);
    detail::put_runs(w, g);
}

// Returns the bits that a grant takes; one that takes more than 8 * grant_bytes cannot be packed.
inline int grant_bits(const slot_grant& g, link_profile profile) {
    bit_counter w;
    put_grant(w, g, profile);
    return w.bits();
}

// Returns false if the grant does not fit.
inline bool pack_grant(const slot_grant& g, link_profile profile,
                       std::span<std::uint8_t, grant_bytes> out) {
    bit_writer w(out);
    put_grant(w, g, profile);
    return w.ok();
}

// Writes the transmitter's frame number into a packed grant; the packing station may count another.
inline void set_frame_number(packed_grant& packed, std::uint16_t frame_number) {
    packed[0] = static_cast<std::uint8_t>(frame_number >> 4);
    packed[1] = static_cast<std::uint8_t>((packed[1] & 0x0fU) | (frame_number & 0x0fU) << 4);
}

// Returns nullopt if the bits are no grant that pack_grant could have written.
inline std::optional<slot_grant> unpack_grant(std::span<const std::uint8_t, grant_bytes> in,
                                              link_profile profile) {
    bit_reader r(in);
    slot_grant g;
    g.frame_number = static_cast<std::uint16_t>(r.get(12));
    g.first_new_sn = static_cast<wire_sn>(r.get(16));
    g.window_edge = static_cast<std::uint16_t>(r.get(15));
    std::array<std::uint8_t, nof_bins> modulation;
    if (!detail::get_modulations(r, modulation)) return std::nullopt;
    for (std::size_t b = 0; b < nof_bins; ++b) g.bins[b].bits_per_symbol = modulation[b];
    detail::get_flags(r, g);
    if (!detail::get_units(r, g, profile)) return std::nullopt;
    if (!r.ok() || !detail::get_new_boundaries(r, g, profile) || !detail::get_runs(r, g, false))
        return std::nullopt;
    while (r.position() < grant_bytes * 8)
        if (r.get(1) != 0) return std::nullopt;
    return g;
}

}  // namespace wip
