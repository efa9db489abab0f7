// SPDX-License-Identifier: GPL-3.0-or-later
// The way of each packet of one direction of one user's link, as journal/packet_record.h has it,
// with PDUs in the place of frames: which numbers they had, and how often each was sent again. Of a
// UMTS bearer a packet's PDUs have parts of its neighbours, too; of an 802.11 cell it has one on
// each hop.
//
//   queue       until the PDU with the last octet of the packet before it was made (UMTS), or had
//               left the access point's queue (802.11)
//   scheduling  until the interval that carried the PDU with its own last octet (or with the
//               length indicator of that octet) for the first time (UMTS); until the first attempt
//               on the last hop (802.11)
//   air         that interval, and from its end to the other end of the RLC (UMTS); that attempt
//               (802.11)
//   retransmission  until every PDU with a part of it had arrived
//   reordering  until it was handed out
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "journal/packet_record.h"
#include "rlc/sn_ring.h"

namespace wip {

class sdu_journal {
public:
    using take_fn = std::function<void(const packet_record&)>;
    // Numbers of PDUs are recorded modulo `sn_modulus`; 0: they are not recorded. `remembered`: the
    // number of PDUs that are kept.
    explicit sdu_journal(take_fn take, int sn_modulus, bool uplink = false,
                         std::size_t remembered = 4096)
        : take_(std::move(take)), sn_modulus_(sn_modulus), uplink_(uplink), pdus_(remembered) {}

    // An SDU was offered. Called in the order of the ids, which have no gaps.
    void offered(std::uint64_t id, std::span<const std::uint8_t> packet, std::int64_t now_ns);
    // It has entered the RLC (UMTS) or the access point's queue (802.11).
    void entered(std::uint64_t id, std::int64_t now_ns);
    // It has left a queue with a discipline.
    void queued(std::uint64_t id, std::int64_t sojourn_ns, bool marked);
    // Its last PDU is being made, in the interval that begins now, or has left that queue.
    void placed(std::uint64_t id, std::int64_t first_sn, std::int64_t last_sn, std::int64_t now_ns);
    // A relay has sent a further PDU of the SDU, its last so far.
    void on_further_pdu(std::uint64_t id, std::int64_t last_sn);
    void sent(std::int64_t sn, bool again, std::int64_t start_ns, std::int64_t received_ns,
              bool lost);
    // The SDU was handed out, or dropped with a reason. `wired_after_ns`: the time that it then
    // takes to the end of the wired network. Later calls for it have no effect.
    void left(std::uint64_t id, std::int64_t now_ns, const char* dropped = "",
              std::int64_t wired_after_ns = 0);

private:
    struct entry {
        std::uint32_t bytes = 0;
        flow_fields flow;
        std::int64_t offered_ns = 0, entered_ns = -1, first_ns = -1;  // first in the queue
        std::int64_t first_sn = -1, last_sn = -1;
        std::int64_t sojourn_ns = 0;
        bool marked = false, done = false;
    };
    struct pdu {
        std::int64_t start_ns = -1, end_ns = -1, received_ns = -1;
        std::uint8_t again = 0;
    };
    entry* find(std::uint64_t id);
    pdu& at(std::int64_t sn) { return pdus_[static_cast<std::size_t>(sn) % pdus_.size()]; }

    take_fn take_;
    int sn_modulus_;
    bool uplink_;
    sn_ring<entry> entries_;
    std::int64_t made_ns_ = -1;  // when the last PDU of the packet before was made
    std::vector<pdu> pdus_;
    std::vector<std::uint8_t> again_;
};

}  // namespace wip
