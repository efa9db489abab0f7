// SPDX-License-Identifier: GPL-3.0-or-later
// Where the time of each IP packet went. The base station's MAC writes its half here (arrival, head
// of the queue, every frame with a part of the packet, every retransmission); the terminal's half
// comes as reports (rlc/delivery_log.h) and is joined to it, and one record goes to the sink.
//
//   key of the join: SN modulo 2^16 and nibble of the packet's first nibble. An SN is unwrapped to
//   the newest one not after the newest frame; that is exact while a report is younger than 65536
//   frames (1.7 s at 25 frames a slot), and a report about another length is not accepted
//
// A packet ends in exactly one record, or counts as skipped:
//   a report about it           delivered, damaged, refused, or lost, as the report has it
//   no report, although the terminal has reported that all earlier frames are decided
//                             lost with its header, so that the terminal did not know of it
//   refused at the MAC        queue_full, not_ip: a record at once
//   skipped                   reports were lost on the way (as their count shows), or no room
//
//   in = recorded + skipped + open, always
//
// Bounded: `most_packets` and `most_frames`. Grows to what the link needs and then allocates no
// more; holds nothing until begin().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "journal/packet_record.h"
#include "rlc/delivery_log.h"
#include "rlc/sn_ring.h"
#include "rlc/transmit_window.h"

namespace wip {

class packet_journal {
public:
    using sink_fn = std::function<void(const packet_record&)>;
    static constexpr std::size_t most_packets = 16384;
    static constexpr std::size_t most_frames = 65536;
    static constexpr std::size_t most_events = 32768;  // retransmissions remembered

    explicit packet_journal(sink_fn sink);

    // Sample time of what follows, and how long a packet that arrives now was on the way before.
    void set_now(std::int64_t now_ns, std::int64_t wired_ns = 0) {
        now_ = now_ns;
        wired_ = wired_ns;
    }

    // The base station's MAC. Packets are followed from `next` on; `queue_front` is the first one
    // in the queue (`next` when it is empty). Counts start over.
    void begin(sdu_number next, sdu_number queue_front, frame_sn next_sn);
    void end();  // open packets count as skipped
    std::int64_t now() const { return now_; }
    std::int64_t wired() const { return wired_; }
    // The number of a packet and the times at which it came.
    struct arrival {
        std::uint64_t number = 0;
        std::int64_t at_ns = 0, wired_ns = 0;
    };
    struct queue_outcome {
        std::int64_t sojourn_ns = 0;
        bool marked = false;
    };
    // A packet came; one of the next three calls follows, now or later.
    void on_came() {
        if (store_) ++count_.in;
    }
    // The packet leaves the queue as SDU n.
    void on_accepted(sdu_number n, const arrival& came, std::span<const std::uint8_t> packet,
                     const queue_outcome& queue);
    void on_refused(std::uint64_t number, std::span<const std::uint8_t> packet, const char* why);
    // The queue dropped it, after it had waited for so long.
    void on_dropped_waiting(const arrival& came, std::span<const std::uint8_t> packet,
                            std::int64_t sojourn_ns, const char* why);
    // A new frame in slot `air`; packets before `end_cut` are completely cut now.
    void on_frame(frame_sn sn, const transmit_window& window, sdu_number end_cut, slot air);
    void on_repeated(frame_sn sn, int retransmissions, slot air);
    void on_dropped(frame_sn sn);
    void on_edge(frame_sn edge);  // frames before it are done or dropped

    // The terminal's reports of one message, at the end of slot `now`; `count` is of all reports
    // since it began, these included, and `decided_before` is terminal_mac's.
    void on_reports(std::span<const packet_report> reports, std::uint64_t count,
                    wire_sn decided_before, slot now);

    // Numbers of the packets with a part in a frame: those that are still known.
    template <class Out>
    void packets_in(wire_sn sn, Out&& out) const {
        if (!store_) return;
        const frame_sn n = unwrap(sn);
        if (!store_->frames.holds(n)) return;
        const frame_track& f = store_->frames[n];
        for (std::int64_t i = find(f.first_sdu); i < store_->packets.end(); ++i) {
            if (store_->packets[i].sdu >= f.end_sdu) break;
            out(store_->packets[i].record.number);
        }
    }

    struct totals {
        std::uint64_t in = 0;
        std::uint64_t recorded = 0;
        std::uint64_t skipped = 0;
        std::uint64_t unmatched = 0;  // reports about no packet that is open
        std::uint64_t open() const { return in - recorded - skipped; }
    };
    const totals& count() const { return count_; }

private:
    struct packet_track {
        sdu_number sdu = 0;
        packet_record record;  // its spans are empty until it is handed out
        std::int64_t head_ns = -1;
        transmit_window::stream_place start;
        frame_sn last_sn = -1;
        std::int64_t last_air = -1;  // slot of the last nibble's first transmission
        bool dropped = false;
        bool closed = false;
    };
    struct frame_track {
        sdu_number first_sdu = 0, end_sdu = 0;
        std::int64_t last_event = -1;
        std::uint8_t retransmissions = 0;
    };
    struct event {  // a retransmission
        std::int64_t air = 0;
        // Index of the retransmission of the same frame before it; -1: none.
        std::int64_t previous = -1;
    };
    struct store {
        sn_ring<packet_track> packets{256};
        sn_ring<frame_track> frames{1024};
        std::vector<event> events{std::vector<event>(most_events)};
        std::int64_t next_event = 0;
        std::vector<std::uint8_t> retransmissions;
        std::vector<std::int64_t> each_ns;
    };

    frame_sn unwrap(wire_sn sn) const;
    std::int64_t find(sdu_number n) const;  // the first packet not before n
    std::int64_t find_start(frame_sn sn, int nibble) const;
    void on_report(const packet_report& report, slot now);
    void close(packet_track& p, const packet_report& report, slot now);
    void fill_parts(const packet_track& p, const packet_report& report, packet_record& r) const;
    void fill_retransmissions(const packet_track& p, const packet_report& report, packet_record& r);
    void skip(packet_track& p);
    void hand_out(const packet_record& r);
    void record_drop(const arrival& came, std::span<const std::uint8_t> packet,
                     std::int64_t sojourn_ns, const char* why);
    void make_room();

    sink_fn sink_;
    std::unique_ptr<store> store_;
    std::int64_t now_ = 0, wired_ = 0;
    sdu_number end_cut_ = 0;      // packets before this one are completely cut ...
    std::int64_t cut_ns_ = 0;     // ... since then
    std::int64_t uncut_ = 0;      // the first packet (of the ring) that is not completely cut
    std::int64_t undecided_ = 0;  // packets before it (of the ring) are closed
    frame_sn next_sn_ = 0, edge_ = 0;
    std::uint64_t reports_ = 0;
    bool received_ = false;
    totals count_;
};

}  // namespace wip
