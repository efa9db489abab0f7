// SPDX-License-Identifier: GPL-3.0-or-later
// The Snoop agent (Balakrishnan, Seshan, Amir, Katz: Improving TCP/IP Performance over Wireless
// Networks, MobiCom 1995) at the network side of a radio link: it keeps copies of the TCP segments
// that go to the terminal until they are acknowledged, sends those that the link lost again itself,
// and hides the loss from the sender. Both hosts stay as they are. Two packet links share its
// memory: downlink() stands before the link, uplink() behind the other direction.
//
// Segments on their way down (TCP with data, IPv4 or IPv6, no fragments) are forwarded at once:
//
//   new                    a copy is kept
//   seen before, or older  the sender's own retransmission: it takes the place of the copy, and its
//                          loss is the sender's affair until it is acknowledged
//
// Acknowledgements on their way up; "next" is the first byte that is not acknowledged:
//
//   further  what it acknowledges is forgotten; forwarded. While segments sent before the loss are
//            missing, the one at "next" was lost as well and is sent again (as NewReno does it; in
//            the text of 1995 it waits for another duplicate)
//   same     a duplicate, if it has no data and the same window as the last one, and if a copy at
//            "next" is kept that the sender has not sent again: the first one has the copy sent
//            again, and is suppressed, as are as many as segments were forwarded behind the copy.
//            More than those are forwarded
//   behind   without data: suppressed; it says nothing new
//
// Acknowledgements with SACK are suppressed as well, as in 1995: the sender learns the blocks from
// the next one that is forwarded. One whose first block lies below its number (DSACK, RFC 2883)
// answers a copy that arrived twice: it is suppressed and asks for nothing.
//
// A copy is also sent again when nothing was acknowledged for 2 R, at least `least_timeout_ms`,
// doubled each time. R: smoothed round trip from here to the terminal and back (R += (r - R)/8, of
// one segment at a time, none that was sent again). After `most_retransmissions` the copy is
// forgotten, and the rest left to the sender. Copies leave as they came, with their timestamps, so
// that the sender's round trips contain the time of the recovery.
//
// SYN, RST, and an acknowledged FIN end a connection's memory, and so do `idle_s` without a packet.
// All else passes untouched. Sequence numbers are compared modulo 2^32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "port/packet_link.h"
#include "wire/tcp_segment.h"

namespace wip {

struct snoop_config {
    bool on = false;
    std::size_t most_bytes = std::size_t{8} << 20;  // of all copies, 1 .. 2^30
    int most_segments = 8192;                       // copies, 1 .. 2^20
    int most_connections = 256;                     // 1 .. 65536; the longest unused one makes room
    int most_retransmissions = 8;                   // of a copy, 1 .. 100
    double first_timeout_ms = 1000;                 // before a round trip is known, 1 .. 60000
    double least_timeout_ms = 40;                   // 1 .. 60000
    double longest_timeout_ms = 10000;              // 1 .. 600000
    double idle_s = 60;                             // 0.001 .. 10^6
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

class snoop {
public:
    // Reasons under which suppressed acknowledgements are counted as dropped.
    static constexpr const char* duplicate_suppressed = "snoop_duplicate_acknowledgement";
    static constexpr const char* old_suppressed = "snoop_old_acknowledgement";

    // Throws as snoop_config::check() does.
    explicit snoop(const snoop_config& config);

    // Packets for the link; copies that are sent again are part of its `in`.
    packet_link& downlink() { return down_; }
    packet_link& uplink() { return up_; }
    const packet_link& downlink() const { return down_; }
    const packet_link& uplink() const { return up_; }

    // Changes the configuration; when it is switched off, all connections are forgotten. Throws as
    // check() does.
    void reconfigure(const snoop_config& config);

    struct statistics {
        packets_bytes retransmitted;  // all copies that were sent again
        std::uint64_t by_duplicate = 0, by_partial = 0, by_timeout = 0;  // of them
        packets_bytes suppressed_duplicates, suppressed_old;             // acknowledgements
        std::uint64_t answered_twice = 0;  // of the suppressed duplicates, with DSACK
        packets_bytes cache_full;          // segments that were forwarded without keeping a copy
        std::uint64_t sender_retransmissions = 0, given_up = 0;  // segments
        std::uint64_t ended = 0, expired = 0, evicted = 0;       // connections
        double round_trip_ms = 0;                                // R of the latest measurement
    };
    const statistics& count() const { return count_; }
    std::size_t connections() const { return flows_.size(); }
    // The copies that are kept now.
    const packets_bytes& cached() const { return cached_; }

private:
    // One direction: packets wait until they are due, in order.
    class stage final : public packet_link {
    public:
        stage(snoop& owner, bool is_down) : owner_(&owner), is_down_(is_down) {}
        bool offer(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag) override;
        void advance(std::int64_t now_ns) override;
        std::int64_t next_wakeup() const override;
        link_sums sums() const override;
        bool idle() const override { return waiting_.empty(); }
        // Has a copy leave, at `now_ns` or, where this direction is ahead, as soon as it can.
        void add_copy(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);

    private:
        struct held_packet {
            std::vector<std::uint8_t> data;
            int tag = 0;
            std::int64_t offered_ns = 0, due_ns = 0;
        };
        void push(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);
        snoop* owner_;
        bool is_down_;
        std::int64_t now_ns_ = 0;
        std::deque<held_packet> waiting_;
        packets_bytes in_, delivered_, queued_;
    };

    struct kept_segment {
        std::uint32_t begin = 0, end = 0;  // sequence numbers; a FIN counts
        std::vector<std::uint8_t> packet;
        int tag = 0;
        bool sent_by_sender_again = false;
        int retransmissions = 0;
        std::uint64_t round = 0;  // flow::round in which it was last sent again
    };
    using timer_key = std::pair<std::int64_t, std::uint64_t>;  // when, number of the flow
    struct flow {
        std::uint64_t number = 0;
        std::int64_t used_ns = 0;
        std::uint32_t next = 0;     // first byte that is not acknowledged
        std::uint32_t highest = 0;  // end of all that was forwarded
        std::uint16_t window = 0;   // of the last acknowledgement
        bool acknowledged = false;  // whether there was one
        bool finishing = false;     // a FIN was forwarded, which ends at `highest`
        std::deque<kept_segment> kept;
        // Recovery: segments before `recover` were sent before the loss.
        bool recovering = false;
        std::uint32_t recover = 0;
        std::uint64_t round = 0;  // recoveries and timeouts
        std::int64_t duplicates_due = 0;
        // The measured segment.
        bool measuring = false;
        std::uint32_t measured_end = 0;
        std::int64_t measured_ns = 0;
        double round_trip_ns = 0;  // 0: none was measured
        int backoff = 0;
        std::int64_t timer_ns = packet_link::never;
    };
    using flow_map = std::map<tcp::flow_key, flow>;
    enum class fate : std::uint8_t { forwarded, duplicate, old };

    void on_down(std::span<const std::uint8_t> packet, std::int64_t now_ns, int tag);
    fate on_up(std::span<const std::uint8_t> packet, std::int64_t now_ns);
    void keep(flow& f, const tcp::segment& s, std::span<const std::uint8_t> packet, int tag,
              std::int64_t now_ns);
    void on_progress(flow& f, std::uint32_t acknowledgement, std::int64_t now_ns);
    fate on_duplicate(flow& f, const tcp::segment& s, std::int64_t now_ns);
    // Sends the copy at `next` again; false: there is none, or it has been sent often enough.
    bool retransmit(flow& f, std::int64_t now_ns, std::uint64_t& cause);
    static bool has_copy_at_next(const flow& f);
    // Whether the copy at `next` was sent again since the loss that is being recovered, or since
    // the last timeout.
    static bool is_sent_in_round(const flow& f);
    void forget_first(flow& f);
    void start_timer(flow& f, std::int64_t now_ns);
    void stop_timer(flow& f);
    void run_timers(std::int64_t now_ns);
    void expire(std::int64_t now_ns);
    flow& open(const tcp::flow_key& key, std::uint32_t sequence, std::int64_t now_ns);
    flow_map::iterator erase(flow_map::iterator it);

    snoop_config config_;
    flow_map flows_;
    std::map<timer_key, flow*> timers_;
    std::uint64_t numbers_ = 0;
    std::int64_t next_sweep_ns_ = 0;
    packets_bytes cached_;
    statistics count_;
    stage down_{*this, true}, up_{*this, false};
};

}  // namespace wip
