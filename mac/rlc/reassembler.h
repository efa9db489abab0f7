// SPDX-License-Identifier: GPL-3.0-or-later
// Packets out of the received frames. A packet's header gives its length and the frames' lengths
// give the place of the next header, so a chain of packets can be followed through frames whose
// content is still missing, as long as no header lies in one.
//
// Behind a header that is lost the chain goes on at the next packet boundary that the base station
// has sent (types/grant.h): what lies between is dropped, and nothing that the frames hold is ever
// taken for a boundary. The boundary of a frame behind a lost one is sent before the window edge
// passes it (rlc/transmit_window.h). So the chain waits at a frame whose boundary it does not know,
// and passes over one below the edge: that one will not be sent.
//
//   the first chain goes on from packet to packet
//   further chains ("ahead", only when order is not wanted) begin at boundaries beyond a header
//   that is still missing; when the chain in front reaches the beginning of the next one the two
//   become one
//
// Boundaries go before headers: a packet that reaches over a boundary, or that begins in a frame
// before its boundary or without one, is none (a CRC-24 accident), and the chain goes on at the
// next boundary.
//
// A header in a damaged frame is accepted only when it leads, over headers in damaged frames up to
// that one, to exactly the first boundary behind it: two errors in one column of an IPv4 header
// pass its checksum, and a wrong length would make packets of the data.
//
// Packets leave in order from the front of the first chain, or, as completed, from anywhere. A
// packet that touches a lost frame is dropped and counted, or delivered damaged when its frames
// have bits at least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <vector>

#include "rlc/delivery_log.h"
#include "rlc/receive_window.h"

namespace wip {

struct reassembler_config {
    link_profile profile = link_profile::radio;
    bool in_order = true;
    bool deliver_corrupt = false;
    int header_nibbles = 0;  // of a frame, in front of the stream (rlc/unit.h)
};

struct reassembly_counts {
    std::uint64_t delivered_packets = 0, delivered_bytes = 0;
    std::uint64_t damaged_packets = 0, damaged_bytes = 0;  // part of delivered
    std::uint64_t lost_packets = 0, lost_bytes = 0;        // known packets that lost a frame
    std::uint64_t cut_off_packets = 0, cut_off_bytes = 0;  // known packets, incomplete at a restart
    std::uint64_t boundaries_lost = 0;   // by the first chain: where the next packet begins
    std::uint64_t unplaced_nibbles = 0;  // received, and passed over for want of a boundary
};

class reassembler {
public:
    using deliver_fn = std::function<void(std::span<const std::uint8_t> packet, bool damaged)>;

    reassembler(const reassembler_config& config, deliver_fn deliver);
    // Every packet's end is written to it from now on; nullptr: no more. A word is there before the
    // packet is handed out.
    void report_to(delivery_log* log) { log_ = log; }

    receive_window& frames() { return frames_; }
    const receive_window& frames() const { return frames_; }

    // Begins anew with frame `sn`: delivers packets that are complete and drops the rest, of which
    // nothing more will come.
    void restart(frame_sn sn);
    // Every packet that starts in a frame before this one has been delivered or is lost.
    frame_sn decided_before() const { return frames_.first(); }
    // Works on what has come since the last call; packets are delivered before it returns.
    void advance();

    const reassembly_counts& counts() const { return counts_; }

private:
    struct packet {
        stream_position start, end;
        std::size_t bytes = 0;
        frame_sn complete_to = 0;  // frames before this one are there
        bool damaged = false;
        bool done = false;  // delivered or dropped
    };
    struct chain {
        stream_position origin;     // where it began
        stream_position at;         // where the next header is
        bool lost = false;          // it is not: at the first boundary at or behind it
        stream_position led_to;     // headers before it are accepted though they are damaged
        std::size_t measuring = 0;  // nibbles of the packet at `at` that lie beyond `reached`
        std::size_t bytes = 0;      // of that packet
        stream_position reached;
        std::deque<packet> packets;
    };
    using chain_iterator = std::list<chain>::iterator;

    enum class verdict : std::uint8_t { yes, no, open };

    // Follows the chain as far as it goes; returns the frame it waits for.
    frame_sn follow(chain_iterator c);
    // The chain goes on at the first boundary at or behind `at`.
    void lose_boundary(chain& c, stream_position at);
    // Moves on to it. False: it is not known yet; `at` is then where to look on.
    bool find_boundary(stream_position& at, std::uint64_t& passed_over) const;
    // Whether a boundary says that no packet begins at `at`.
    bool contradicted(stream_position at) const;
    // Whether the packets from `at` on, whose header is damaged, lead to the first boundary behind
    // that damage, `next`.
    verdict leads_to_boundary(stream_position at, stream_position& next) const;
    // Ends the packet at c.at with c.reached.
    void close_packet(chain& c);
    void meet_next(chain_iterator c);
    void begin_ahead(frame_sn behind);
    void lose(stream_position start, std::size_t bytes);
    void report(const packet& p, packet_end end) const;
    void lose_packet_at(stream_position at);
    void deliver();
    bool finish(packet& p);  // false: it has to wait
    void release_frames();

    reassembler_config config_;
    deliver_fn deliver_;
    receive_window frames_;
    std::list<chain> chains_;
    std::vector<std::uint8_t> buffer_;
    delivery_log* log_ = nullptr;
    bool cutting_off_ = false;
    reassembly_counts counts_;
};

}  // namespace wip
