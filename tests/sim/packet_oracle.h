// SPDX-License-Identifier: GPL-3.0-or-later
// Where each packet's time went, told from outside: from what was offered, the grants on the air,
// the bits that arrived and the moment of delivery. It cuts the packets itself and follows every
// nibble, knows nothing of the journal, and compares each of its records: times, parts, frames,
// retransmissions, end. Violations throw with the packet's number.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "journal/packet_record.h"
#include "link/link_config.h"
#include "port/link_port.h"

namespace wip::sim {

class packet_oracle {
public:
    explicit packet_oracle(const link_config& link, std::int64_t first_sn = 0)
        : link_(link), next_sn_(first_sn) {}

    // The packet that the base station is handed next; offered number n is record number n. Refused
    // with this reason unless it is said to be accepted.
    void on_offer(int bytes, std::int64_t arrived_ns, const char* refused = "queue_full");
    void on_accepted();
    void set_packing(bool on) { link_.packing = on; }  // changes packing at run time
    // The packet whose first nibble went there, as a terminal names the place; -1: none starts
    // there.
    std::int64_t packet_at(wire_sn sn, int nibble) const;
    void on_plan(const slot_plan& plan, std::int64_t now_ns);
    // The report as the terminal has it, before it delivers packets.
    void on_report(const slot_report& report);
    void on_delivered(std::uint64_t number, bool damaged, std::int64_t air);
    void on_record(const packet_record& r);

    // The base station knows that the terminal has this frame.
    void on_acknowledged(std::int64_t sn) { frames_[sn].acknowledged = true; }
    // The number of the first packet that was not delivered though every frame with a part of it
    // was acknowledged; -1 when there is none.
    std::int64_t undelivered() const;
    // No packet may be without its record, but for `skipped` of them.
    void all_recorded(std::uint64_t skipped) const;
    // packets delivered intact, every part of whose delay was checked
    std::uint64_t compared() const { return compared_; }
    std::uint64_t dropped() const { return dropped_; }
    std::uint64_t lost() const { return lost_; }  // packets dropped as lost_frame
    std::uint64_t damaged() const { return damaged_; }
    std::uint64_t waited() const { return waited_; }  // packets that waited for a retransmission
    // packets that waited for packets before them
    std::uint64_t reordered() const { return reordered_; }

private:
    struct packet {
        int bytes = 0;
        const char* refused = "";
        bool accepted = false, recorded = false, delivered = false, damaged = false;
        std::int64_t arrived = 0, head = -1, first_sn = -1, last_sn = -1;
        std::int64_t last_air = -1, delivered_in = -1;
        int left = 0;  // nibbles not yet cut into frames
    };
    struct frame {
        int length = 0;
        std::bitset<216> there;
        std::int64_t complete = -1;
        int whole_repeats = 0;
        bool in_pieces = false, acknowledged = false;
    };
    [[noreturn]] void wrong(const packet_record& r, const char* what, std::int64_t expected,
                            std::int64_t got) const;
    std::int64_t unwrap(wire_sn sn) const { return next_sn_ - 1 - wire_sn(next_sn_ - 1 - sn); }

    link_config link_;
    std::vector<packet> packets_;
    std::deque<std::size_t> queue_;
    struct packet_start {
        std::int64_t sn;
        int nibble;
        std::size_t packet;
    };
    // starts of the packets cut so far, in the order of the stream
    std::vector<packet_start> starts_;
    std::map<std::int64_t, frame> frames_;
    std::int64_t next_sn_;
    std::uint64_t compared_ = 0, dropped_ = 0, lost_ = 0, damaged_ = 0, waited_ = 0, reordered_ = 0;
};

}  // namespace wip::sim
