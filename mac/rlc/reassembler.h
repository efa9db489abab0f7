// SPDX-License-Identifier: GPL-3.0-or-later
// Packets out of the received frames. A packet's header gives its length and the frames' lengths
// give the place of the next header, so a chain of packets can be followed through frames whose
// content is still missing, as long as no header lies in one.
//
// After a lost header the chain continues at the next packet boundary that the base station has
// sent (types/grant.h): the nibbles between are dropped, and boundaries are never guessed from the
// content of frames. The boundary of a frame after a lost one is sent before the window edge passes
// it (rlc/transmit_window.h). So the chain waits at a frame whose boundary it does not know, and
// passes over one below the edge: that one will not be sent.
//
//   the first chain advances from packet to packet
//   further chains ("ahead", only when order is not wanted) begin at boundaries beyond a header
//   that is still missing; when a chain reaches the beginning of the next one, the two become one
//
// Boundaries have priority over headers: if a packet would extend over a boundary, or begin in a
// frame before its boundary or in one without a boundary, its header is wrong (it passed the CRC-24
// by chance), and the chain continues at the next boundary.
//
// A header in a damaged frame is accepted only if its length, and those of further headers in
// damaged frames, lead exactly to the first boundary after it: two errors in one column of an IPv4
// header pass its checksum, and a wrong length would turn payload into packets.
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
    int header_nibbles = 0;  // header of a frame, before the stream (rlc/unit.h)
};

struct reassembly_counts {
    std::uint64_t delivered_packets = 0, delivered_bytes = 0;
    std::uint64_t damaged_packets = 0, damaged_bytes = 0;  // part of delivered
    std::uint64_t lost_packets = 0, lost_bytes = 0;        // known packets that lost a frame
    std::uint64_t cut_off_packets = 0, cut_off_bytes = 0;  // known packets, incomplete at a restart
    // Times that the first chain lost where the next packet begins.
    std::uint64_t boundaries_lost = 0;
    std::uint64_t unplaced_nibbles = 0;  // received, but skipped because no boundary was known
};

class reassembler {
public:
    using deliver_fn = std::function<void(std::span<const std::uint8_t> packet, bool damaged)>;

    reassembler(const reassembler_config& config, deliver_fn deliver);
    // From now on a report about the end of every packet is written to `log`, before the packet is
    // handed out; nullptr: no reports.
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
        stream_position origin;  // where it began
        stream_position at;      // where the next header is
        // `at` is unknown: the next header is at the first boundary from there on.
        bool lost = false;
        // Headers before this boundary are accepted although they are damaged.
        stream_position led_to;
        std::size_t measuring = 0;  // nibbles of the packet at `at` that lie beyond `reached`
        std::size_t bytes = 0;      // size of that packet
        stream_position reached;
        std::deque<packet> packets;
    };
    using chain_iterator = std::list<chain>::iterator;

    enum class verdict : std::uint8_t { yes, no, open };

    // Follows the chain as far as it goes; returns the frame it waits for.
    frame_sn follow(chain_iterator c);
    // Loses track of the packets: the chain continues at the first boundary from `at` on.
    void lose_boundary(chain& c, stream_position at);
    // Moves `at` to the first boundary from there on. False: it is not known yet; `at` is then
    // where the search goes on.
    bool find_boundary(stream_position& at, std::uint64_t& passed_over) const;
    // Whether a boundary says that no packet begins at `at`.
    bool contradicted(stream_position at) const;
    // Whether the packets from `at` on, whose header is damaged, lead to the first boundary after
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
