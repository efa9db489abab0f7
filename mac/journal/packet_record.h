// SPDX-License-Identifier: GPL-3.0-or-later
// The way of one IP packet over the downlink, from its arrival at the base station to its delivery
// at the terminal, in sample time (types/slot_time.h). docs/explanation/packet-delay.md has the
// picture. Every limit between two parts is an event of the MAC or of a slot, nothing is
// estimated:
//
//   arrived     the packet was handed to the base station's MAC
//   queue       until it was first in the queue: the slot in which the last nibble of the packet
//               before it was cut was being planned
//   scheduling  until the start of the slot that carried its last nibble for the first time
//   air         that slot
//   retransmission  from its end to the end of the slot with which everything was there
//   reordering  until the end of the slot at which the terminal handed it out
//
// If the link follows its uplink as well, base station and terminal change places there.
//
// A dropped packet has the parts that it got through; the last one of them ends with the drop.
#pragma once

#include <cstdint>
#include <span>

#include "wire/flow_fields.h"

namespace wip {

struct packet_parts {
    std::int64_t queue = 0, scheduling = 0, air = 0, retransmission = 0, reordering = 0;
    std::int64_t sum() const { return queue + scheduling + air + retransmission + reordering; }
    bool operator==(const packet_parts&) const = default;
};

struct packet_record {
    std::uint64_t number = 0;  // packets that this MAC was handed before it
    std::uint32_t bytes = 0;
    flow_fields flow;
    bool uplink = false;
    // Time between the interface and the link (emulator): before the packet arrived; of the uplink
    // after it left.
    std::int64_t wired_ns = 0;
    std::int64_t arrived_ns = 0, left_ns = 0;
    packet_parts parts;  // their sum is left - arrived
    // The number of retransmissions of each frame with a part of the packet, in order. A frame that
    // was cut into pieces counts as its most repeated piece.
    std::span<const std::uint8_t> retransmissions;
    // The retransmissions that the packet waited for after its last part had been sent: of the
    // frame that came last, from the end of one transmission to the end of the next. Together they
    // are parts.retransmission when the packet came undamaged: of more than 64, or longer ago than
    // the journal remembers, the first is the sum of those that are not told apart.
    std::span<const std::int64_t> each_retransmission_ns;
    const char* dropped = "";  // the reason
    std::int32_t refused = 0;  // errno, when the terminal's interface did not take it
    bool damaged = false;
    // Time in the queue that the queue discipline based its decision on, in whole slots of the
    // sender's count, and whether it marked the packet.
    std::int64_t sojourn_ns = 0;
    bool marked = false;
    std::int32_t first_pdu = -1, last_pdu = -1;  // UMTS: numbers of the PDUs that had it
};

}  // namespace wip
