// SPDX-License-Identifier: GPL-3.0-or-later
// The control PDUs of TS 25.322: STATUS with its super-fields (9.2.2.11), RESET and RESET ACK.
//
//   D/C = 0 (piggybacked: reserved), type 3 | super-fields ... | padding
//   D/C = 0, type 3, RSN 1, reserved 3, HFNI 20 | padding
//
// Missing PDUs are listed as LIST (pairs of a number and how many more follow it), BITMAP or RLIST
// (distances in codewords of three bits and an end bit, least significant first; 0 and an end: what
// follows is the length of a burst).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "umts/bits.h"

namespace wip::umts {

enum class control_type : std::uint8_t { status = 0, reset = 1, reset_ack = 2 };
enum class missing_format : std::uint8_t { list, bitmap, rlist };

// The content of an MRW or MRW_ACK: the place up to which SDUs are discarded: all that end before
// PDU `sn`, and those that its first `n` LIs end.
struct window_move {
    std::uint16_t sn = 0;
    std::uint8_t n = 0;
    bool operator==(const window_move&) const = default;
};

// The content of a STATUS PDU that was read. Numbers are SNs.
struct status_content {
    std::optional<std::uint16_t> ack, window, poll;
    std::optional<window_move> move, move_ack;
    std::vector<std::uint16_t> missing;
    status_content() { missing.reserve(8192); }  // more than the PDUs of one status
};

// Reads a STATUS PDU. False: it is damaged, and nothing in it may be used. `pdu` begins with the
// status, also where it is piggybacked. Allocates nothing.
bool read_status(std::span<const std::uint8_t> pdu, status_content& out) noexcept;

// A run of missing PDUs.
struct missing_run {
    std::int64_t first = 0;
    int count = 0;
};

// The state that a receiver reports: all before `end` are there except the missing ones. Numbers
// are not reduced by the modulus.
struct receiver_state {
    std::int64_t end = 0;
    std::span<const missing_run> missing;  // ascending, before `end`
};

// Writes status fields into a PDU of at most out.size() octets.
class status_writer {
public:
    explicit status_writer(std::span<std::uint8_t> out);
    // False: it did not fit, and is not there.
    bool move(const window_move& m);
    bool move_ack(const window_move& m);
    bool window(int size);
    // Writes as many of the missing PDUs as fit, the first ones first; the rest is neither
    // acknowledged nor reported missing. This is always the last field.
    void acknowledge(const receiver_state& s, missing_format format);
    void no_more();
    std::size_t bytes() const { return out_.bytes(); }

private:
    std::int64_t list(const receiver_state& s);
    std::int64_t bitmap(const receiver_state& s);
    std::int64_t rlist(const receiver_state& s);
    // Whether so many bits fit in front of the last field, an ACK of 16 bits.
    bool fits(std::size_t bits) const { return out_.left() >= bits + 16; }
    void sn(std::int64_t v) { out_.put(static_cast<std::uint32_t>(v) & 0xfffU, 12); }

    bit_writer out_;
};

// RESET and RESET ACK.
struct reset_content {
    control_type type = control_type::reset;
    bool rsn = false;
    std::uint32_t hfni = 0;
};
void write_reset(const reset_content& r, std::span<std::uint8_t> pdu) noexcept;
std::optional<reset_content> read_reset(std::span<const std::uint8_t> pdu) noexcept;
// The type of a control PDU of an acknowledged entity; nullopt: it is a data PDU, or no PDU at all.
std::optional<control_type> control_type_of(std::span<const std::uint8_t> pdu) noexcept;

}  // namespace wip::umts
