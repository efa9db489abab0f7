// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/frame_header.h"

#include <bit>

#include "schema/frame_outcome_wire.h"
#include "types/bit_io.h"
#include "types/grant.h"

namespace wip::capture {
namespace {

enum frame_flag : std::uint8_t {
    flag_whole = 1,
    flag_last = 2,
    flag_combined = 4,
    flag_retransmission = 8,
    flag_window_edge = 16,
};

// Tag 12 (name of a dissector), 8 bytes; tag 0 (the end).
constexpr std::array<std::uint8_t, dissector_tag_bytes> dissector_tag{
    0, 12, 0, 8, 'o', 'p', 'e', 'n', 'w', 'i', 'p', 0, 0, 0, 0, 0};

void put(byte_buffer& out, std::uint64_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

}  // namespace

std::optional<std::uint16_t> window_edge_of(const std::string& grant) {
    if (grant.size() != grant_bytes) return std::nullopt;
    bit_reader r({reinterpret_cast<const std::uint8_t*>(grant.data()), grant.size()});
    r.get(12);  // number of the frame
    const std::uint32_t first_new_sn = r.get(16);
    return static_cast<std::uint16_t>(first_new_sn - r.get(15));
}

void append_frame(byte_buffer& out, frame_place place, std::int64_t slot, std::uint16_t user,
                  std::optional<std::uint16_t> window_edge, const link_frame& f) {
    out.insert(out.end(), dissector_tag.begin(), dissector_tag.end());
    std::uint8_t flags = 0;
    if (f.whole) flags |= flag_whole;
    if (f.last) flags |= flag_last;
    if (f.combined) flags |= flag_combined;
    if (f.retransmissions != 0) flags |= flag_retransmission;
    if (window_edge) flags |= flag_window_edge;
    out.push_back(frame_header_version);
    out.push_back(static_cast<std::uint8_t>(place));
    out.push_back(f.bin);
    out.push_back(f.bits_per_symbol);
    out.push_back(flags);
    out.push_back(static_cast<std::uint8_t>(outcome_to_wire(f.outcome)));
    put(out, f.sn, 2);
    put(out, static_cast<std::uint64_t>(slot), 8);
    put(out, user, 2);
    out.push_back(f.offset);
    out.push_back(place == frame_place::sent ? f.retransmissions : std::uint8_t{0});
    put(out, f.payload_bits, 2);
    put(out, window_edge.value_or(0), 2);
    put(out, std::bit_cast<std::uint32_t>(f.snr_db), 4);
    put(out, f.packets.size(), 2);
    put(out, f.border, 1);
    put(out, 0, 1);
    for (const std::uint64_t number : f.packets) put(out, number, 8);
    out.insert(out.end(), f.payload.begin(), f.payload.end());
}

}  // namespace wip::capture
