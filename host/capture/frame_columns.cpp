// SPDX-License-Identifier: GPL-3.0-or-later
#include "capture/frame_columns.h"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "schema/frame_outcome_wire.h"

namespace wip::capture {
namespace {

constexpr std::uint32_t most_payload_bits = 0xffff;

constexpr std::size_t bytes_of(std::uint32_t bits) { return (bits + 7) / 8; }

std::uint8_t entry(const std::string& column, int at) {
    return column.empty() ? std::uint8_t{0}
                          : static_cast<std::uint8_t>(column[static_cast<std::size_t>(at)]);
}

}  // namespace

bool frame_columns::well_formed(const openwip::telemetry::FrameBatch& b) {
    const std::size_t n = b.bin().size();
    std::uint64_t of_slots = 0, payload = 0, packets = 0;
    for (const auto& s : b.slot()) of_slots += s.frames();
    for (const std::uint32_t bits : b.payload_bits()) {
        if (bits > most_payload_bits) return false;
        payload += bytes_of(bits);
    }
    for (const char c : b.nof_packets()) packets += static_cast<std::uint8_t>(c);
    const auto full = [n](std::size_t size) { return size == n; };
    const auto full_or_empty = [n](std::size_t size) { return size == n || size == 0; };
    return n != 0 && of_slots == n && payload == b.payload().size() &&
           packets == static_cast<std::size_t>(b.packet_size()) &&
           std::ranges::all_of(
               std::initializer_list<std::size_t>{
                   b.bits_per_symbol().size(), static_cast<std::size_t>(b.sn_size()),
                   b.offset().size(), b.whole().size(), b.last().size(), b.retransmissions().size(),
                   static_cast<std::size_t>(b.snr_db_size()),
                   static_cast<std::size_t>(b.payload_bits_size())},
               full) &&
           std::ranges::all_of(
               std::initializer_list<std::size_t>{b.outcome().size(), b.combined().size(),
                                                  b.nof_packets().size(), b.border().size()},
               full_or_empty) &&
           std::ranges::all_of(b.outcome(), [](char c) {
               return outcome_from_wire(static_cast<std::uint8_t>(c)).has_value();
           });
}

link_frame frame_columns::next() {
    const auto& b = *batch_;
    const int i = at_++;
    link_frame f;
    f.bin = entry(b.bin(), i);
    f.bits_per_symbol = entry(b.bits_per_symbol(), i);
    f.sn = static_cast<std::uint16_t>(b.sn(i));
    f.offset = entry(b.offset(), i);
    f.whole = entry(b.whole(), i) != 0;
    f.last = entry(b.last(), i) != 0;
    f.retransmissions = entry(b.retransmissions(), i);
    f.outcome = outcome_from_wire(entry(b.outcome(), i)).value_or(frame_outcome::unknown);
    f.snr_db = b.snr_db(i);
    f.combined = entry(b.combined(), i) != 0;
    f.border = b.border().empty() ? unknown_boundary : entry(b.border(), i);
    f.payload_bits = static_cast<std::uint16_t>(b.payload_bits(i));
    f.payload = std::span(b.payload()).subspan(payload_at_, bytes_of(f.payload_bits));
    payload_at_ += f.payload.size();
    f.packets = std::span(b.packet().data(), static_cast<std::size_t>(b.packet_size()))
                    .subspan(packet_at_, entry(b.nof_packets(), i));
    packet_at_ += f.packets.size();
    return f;
}

}  // namespace wip::capture
