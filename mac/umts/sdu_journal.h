// SPDX-License-Identifier: GPL-3.0-or-later
// The way of each packet of one direction of a bearer, as journal/packet_record.h has it, with an
// interval in the place of a slot and PDUs in the place of frames: which numbers they had, and how
// often each was sent again. A packet's PDUs have parts of its neighbours, too.
//
//   queue       until the PDU with the last octet of the packet before it was made
//   scheduling  until the interval that carried the PDU with its own last octet (or the LI that
//   says
//               so) for the first time
//   air         that interval, and from its end to the other end of the RLC
//   retransmission  until every PDU of it was there
//   reordering  until it was handed out
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "journal/packet_record.h"
#include "umts/pdu.h"
#include "umts/ring.h"

namespace wip::umts {

class sdu_journal {
public:
    using take_fn = std::function<void(const packet_record&)>;
    // PDUs have numbers below `numbers`; 0: none.
    explicit sdu_journal(take_fn take, int numbers = sn_space, bool uplink = false)
        : take_(std::move(take)), numbers_(numbers), uplink_(uplink) {}

    // In the order of their ids, which have no gaps.
    void offered(std::uint64_t id, std::span<const std::uint8_t> packet, std::int64_t now_ns);
    void entered(std::uint64_t id, std::int64_t now_ns);  // the RLC
    // Its last PDU is being made, in the interval that begins now.
    void placed(std::uint64_t id, std::int64_t first_sn, std::int64_t last_sn, std::int64_t now_ns);
    void sent(std::int64_t sn, bool again, std::int64_t start_ns, std::int64_t there_ns, bool lost);
    // Handed out, with so much of wired network behind it, or dropped with a reason. What comes
    // later says nothing any more.
    void left(std::uint64_t id, std::int64_t now_ns, const char* dropped = "",
              std::int64_t behind_ns = 0);

private:
    struct entry {
        std::uint32_t bytes = 0;
        flow_fields flow;
        std::int64_t offered_ns = 0, entered_ns = -1, first_ns = -1;  // first in the queue
        std::int64_t first_sn = -1, last_sn = -1;
        bool done = false;
    };
    struct pdu {
        std::int64_t start_ns = -1, end_ns = -1, there_ns = -1;
        std::uint8_t again = 0;
    };
    entry* find(std::uint64_t id);
    pdu& at(std::int64_t sn) { return pdus_[static_cast<std::size_t>(sn % sn_space)]; }

    take_fn take_;
    int numbers_;
    bool uplink_;
    ring<entry> entries_;
    std::uint64_t first_id_ = 0;
    std::int64_t made_ns_ = -1;  // the last PDU of the packet that was placed last
    std::array<pdu, sn_space> pdus_{};
    std::vector<std::uint8_t> again_;
};

}  // namespace wip::umts
