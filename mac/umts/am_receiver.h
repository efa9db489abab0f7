// SPDX-License-Identifier: GPL-3.0-or-later
// The receiving side of an acknowledged RLC entity (TS 25.322, 9.4, 11.3, 11.6): receive window,
// reassembly, content of STATUS PDUs.
//
// PDUs of the window lie in a ring. An SDU is whole when all PDUs from its beginning to its end are
// there: its beginning is what follows the end of the SDU before it, so after a PDU that ends with
// the end of an SDU (or with padding) the next PDU begins a new one. With delivery in sequence it
// is delivered when the window has moved over its end, otherwise with the PDU that completes it.
// The ring is longer than the window by the PDUs of the longest SDU, which may begin before the
// window.
//
// Status is wanted when polled, periodically, and with each new PDU while one before it is missing;
// it is sent as soon as the prohibit timer allows, with the state of that moment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "umts/am_config.h"
#include "umts/pdu.h"
#include "umts/status.h"

namespace wip::umts {

struct am_receiver_counts {
    std::uint64_t pdus = 0, duplicates = 0, outside = 0, malformed = 0, sdus = 0, statuses = 0,
                  moves = 0;
    // Octets of SDUs that have been received and not handed out: now, and at most so far.
    std::int64_t held = 0, most_held = 0;
};

class am_receiver {
public:
    using deliver_fn = std::function<void(std::span<const std::uint8_t> sdu, const sdu_position&)>;
    am_receiver(const am_config& config, deliver_fn deliver);

    // A data PDU. Returns the STATUS PDU that is piggybacked on it, empty if there is none.
    std::span<const std::uint8_t> on_pdu(std::span<const std::uint8_t> pdu, std::int64_t now_ns);
    // The sender has discarded all SDUs up to this place (MRW). The MRW_ACK goes into the next
    // STATUS PDU.
    void on_move(const window_move& m);
    void reset(std::uint32_t epoch);

    // A STATUS PDU is due now.
    bool status_due(std::int64_t now_ns) const;
    // Writes the super-fields that acknowledge and report missing PDUs; after that no status is
    // due.
    void acknowledge(status_writer& out, std::int64_t now_ns);
    void advance(std::int64_t now_ns);
    // The time (ns) of the next status, wanted or periodic; 0: it is due at once; the largest
    // int64: none is expected.
    std::int64_t next_wakeup() const;

    std::int64_t expected() const { return next_; }    // VR(R)
    std::int64_t highest() const { return highest_; }  // VR(H)
    const am_receiver_counts& counts() const { return counts_; }

private:
    struct stored {
        std::int64_t sn = -1;
        std::vector<std::uint8_t> bytes;
        int segments = 0;
        int held = 0;             // octets of SDUs that are not handed out
        bool open = false;        // its last SDU goes on in the next PDU
        bool first_ends = false;  // its first segment is the end of an SDU ...
        bool head_done = false;   // ... which has been handed out
    };
    stored& at(std::int64_t sn) { return ring_[static_cast<std::size_t>(sn) % ring_.size()]; }
    const stored* find(std::int64_t sn) const;
    void finish(std::int64_t sn);  // delivers all complete SDUs that end in this PDU
    // Delivers the SDU that continues into PDU `end` from the one before it, if it is complete.
    void finish_spanning(std::int64_t end);
    bool finish_head(std::int64_t end);  // delivers the SDU that this PDU's first segment ends
    bool assemble(std::int64_t begin, int segment, std::int64_t end, int end_segment);
    void slide();
    void drop_before(std::int64_t sn, int segment);
    void hold(stored& s);
    void release_octets(stored& s, int octets);

    am_config config_;
    deliver_fn deliver_;
    std::vector<stored> ring_;
    std::int64_t next_ = 0, highest_ = 0;
    std::uint32_t epoch_ = 0;
    std::int64_t floor_sn_ = 0;  // octets before this (PDU, segment) are not used any more
    int floor_segment_ = 0;
    std::vector<std::uint8_t> sdu_;
    pdu_content content_;  // content of the PDU that is being received
    pdu_content reread_;   // content of a stored PDU that is read again
    std::vector<missing_run> missing_;
    bool status_wanted_ = false;
    std::optional<window_move> move_ack_;
    std::int64_t prohibited_until_ns_ = 0, next_periodic_ns_ = -1;
    am_receiver_counts counts_;
};

}  // namespace wip::umts
