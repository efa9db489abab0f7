// SPDX-License-Identifier: GPL-3.0-or-later
// Packets out of the received frames. A packet's header gives its length and the frames' lengths
// give the place of the next header, so a chain of packets can be followed through frames whose
// content is still missing, as long as no header lies in one. Chains:
//
//   the first chain is in step with the sender: it started at the first frame, or was found by a
//   search (rlc/boundary_search.h) after a frame was lost for good
//   further chains ("ahead", only when order is not wanted) start beyond a header that is still
//   missing. They are found by search too, but the missing part may yet show that the search was
//   taken in by data that looks like a packet (a tunnel's inner one). So the first packet of such a
//   chain waits until the chain before meets it; those after it are delivered
//
// A header in a damaged frame is believed only when what follows its packet confirms it, as in a
// search: two errors in one column of an IPv4 header pass its checksum, and a wrong length would
// take the packets behind with it.
//
// When the chain in front reaches a packet border of the next one the two become one. Packets leave
// in order from the front of the first chain, or, as completed, from anywhere. A packet that
// touches a lost frame is dropped and counted, or delivered damaged when its frames have bits at
// least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <span>
#include <vector>

#include "rlc/boundary_search.h"
#include "rlc/delivery_log.h"
#include "rlc/receive_window.h"

namespace wip {

struct reassembler_config {
    link_profile profile = link_profile::radio;
    bool packing = true;
    bool in_order = true;
    bool deliver_corrupt = false;
};

struct reassembly_counts {
    std::uint64_t delivered_packets = 0, delivered_bytes = 0;
    std::uint64_t damaged_packets = 0, damaged_bytes = 0;  // part of delivered
    std::uint64_t lost_packets = 0, lost_bytes = 0;        // known packets that lost a frame
    std::uint64_t searches = 0;                            // packet boundary was lost
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

    // Drops everything; frames from `sn` on follow. in_step: a packet starts there.
    void restart(frame_sn sn, bool in_step);
    // Every packet that starts in a frame before this one has been delivered or is lost.
    frame_sn decided_before() const { return frames_.first(); }
    // Works on what has come since the last call; packets are delivered before it returns.
    void advance();

    const reassembly_counts& counts() const { return counts_; }
    std::size_t chains() const { return chains_.size(); }

private:
    struct packet {
        stream_position start, end;
        std::size_t bytes = 0;
        frame_sn complete_to = 0;  // frames before this one are there
        bool damaged = false;
        bool done = false;  // delivered or dropped
    };
    struct chain {
        explicit chain(bool every_nibble) : search(every_nibble) {}
        bool in_step = true;
        bool searching = false;
        bool confirming = false;       // searching, at first for the header where the search began
        stream_position origin;        // where its search began, or its first header
        stream_position found{-1, 0};  // by the last search: confirmed
        boundary_search search;
        stream_position at;         // where the next header is, when not searching
        std::size_t measuring = 0;  // nibbles of the packet at `at` that lie beyond `reached`
        std::size_t bytes = 0;      // of that packet
        stream_position reached;
        std::deque<packet> packets;
    };
    using chain_iterator = std::list<chain>::iterator;

    void begin_search(chain& c, stream_position at);
    // Is the header there that of a packet, or where is the next one?
    void begin_confirmation(chain& c);
    void end_confirmation(chain& c, bool confirmed);
    // Follows the chain as far as it goes; returns the frame it waits for.
    frame_sn follow(chain_iterator c);
    bool search_on(chain_iterator c);
    void meet_next(chain_iterator c);
    // The next chain has searched where c searches now: c goes on with what it has found.
    void take_over_search(chain_iterator c);
    // The next chain's packets from `first` on, and its end, become those of c.
    void absorb_next(chain_iterator c, std::size_t first);
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
    reassembly_counts counts_;
};

}  // namespace wip
