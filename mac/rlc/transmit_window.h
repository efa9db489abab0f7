// SPDX-License-Identifier: GPL-3.0-or-later
// The sender's ARQ: the frames that are not yet acknowledged, the units waiting for retransmission,
// and what became of the SDUs they carry. Selective repeat, with one ACK or NACK for every
// transmission:
//
//   sent --ack--> part of the frame is done; all parts done: the frame is done
//        --nack-> waiting, oldest frame first --> sent again (rlc/unit.h: whole, or cut)
//                 after max_retransmissions: the frame is dropped, with all its units
//
// An SDU is `sent` when every frame that carries a part of it is done, `dropped` as soon as one of
// them is dropped (its other frames go on: the receiver may be told to deliver it damaged).
//
// Packet boundaries (types/grant.h). After a dropped frame the terminal does not know where the
// next packet begins (rlc/reassembler.h), so it *needs* the boundaries of the frames after it, up
// to the first frame that has one. A grant carries the boundaries of its new frames, as far as
// there is room. If a boundary is needed, and the grant of its frame was not received or did not
// carry it, then later grants carry it until one of them is received.
//
// The window edge is the oldest frame that is neither done nor dropped, or that is done but whose
// boundary is needed and not received. So below the edge nothing comes any more, neither bits nor
// boundary.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <set>
#include <span>

#include "rlc/segmenter.h"
#include "rlc/sn_ring.h"
#include "rlc/unit.h"
#include "types/frame.h"
#include "types/grant.h"

namespace wip {

struct tx_frame {
    // Whether the terminal knows the boundary.
    enum class report : std::uint8_t { on_the_way, no, yes };
    std::array<std::uint8_t, 108> payload{};
    bool open = true;  // neither done nor dropped
    bool dropped = false;
    bool boundary_needed = false;
    report boundary_report = report::on_the_way;
    std::uint8_t boundary = no_boundary;  // types/grant.h
    std::uint8_t bits_per_symbol = 0;     // modulation of the first transmission
    std::uint8_t nibbles = 0;             // P(bits_per_symbol)
    std::uint8_t acknowledged = 0;        // nibbles
    std::uint8_t sdu_nibbles = 0;         // the rest is padding
    sdu_number first_sdu = 0, end_sdu = 0;
};

struct sdu_totals {
    std::uint64_t sent_packets = 0, sent_bytes = 0;
    std::uint64_t dropped_packets = 0, dropped_bytes = 0;
    std::uint64_t held_packets = 0, held_bytes = 0;  // neither sent nor dropped yet
};

class transmit_window {
public:
    explicit transmit_window(stream_room room, frame_sn first = 0);
    transmit_window(const transmit_window&) = delete;
    transmit_window& operator=(const transmit_window&) = delete;

    // Every packet that the segmenter accepted, in its order.
    void on_sdu(std::size_t bytes);

    frame_sn next_sn() const { return frames_.end(); }
    frame_sn edge() const { return frames_.first(); }
    bool full() const { return frames_.size() >= static_cast<std::size_t>(max_window); }
    bool empty() const { return frames_.size() == 0; }

    // A new frame with the next SN, cut from `from`; the unit that carries it, sent whole.
    arq_unit open_frame(int bits_per_symbol, segmenter& from);

    const tx_frame& frame(frame_sn sn) const { return frames_[sn]; }
    bool is_open(frame_sn sn) const { return frames_.holds(sn) && frames_[sn].open; }

    struct answer {
        bool frame_done = false;
        bool dropped = false;
        int sdu_bits = 0;  // SDU bits that this acknowledgement covered
    };
    answer acknowledge(const arq_unit& unit);
    // The unit waits for its retransmission, or, when its retransmissions are used up, the frame is
    // dropped.
    answer fail(const arq_unit& unit, int max_retransmissions);

    // Units that wait, oldest first. The caller takes the first n off and puts back what it could
    // not send.
    std::size_t waiting() const { return waiting_.size(); }
    std::size_t first_waiting(std::span<arq_unit> out) const;
    void take_waiting(const arq_unit& unit);
    void put_waiting(const arq_unit& unit);

    // A grant that carried the frame's boundary was received; or (`received` false) it was not, or
    // the grant of the frame's first transmission had no room for it.
    void resolve_boundary(frame_sn sn, bool received);
    // The terminal needs the boundary of the next new frame although none was dropped: it may be
    // another one, or have restarted.
    void need_next_boundary() { next_boundary_needed_ = true; }
    bool boundaries_waiting() const { return !pending_boundaries_.empty(); }
    // Takes the boundaries that wait for a grant, oldest first, as many runs as fit into `bits` of
    // it, and returns the number of runs. They are on their way until they are resolved.
    std::size_t take_boundaries(std::span<boundary_run> out, int bits);
    void resolve_boundaries(const boundary_run& run, bool received);

    // The nibbles that a bin at `unit.bits_per_symbol` carries, padding included.
    void write_payload(const arq_unit& unit, std::span<std::uint8_t> out) const;
    // Whether the unit is its frame, at the frame's own modulation; else it is a fragment.
    bool is_whole(const arq_unit& unit) const;
    bool is_last(const arq_unit& unit) const;

    // The place of a packet's first nibble; its SN is negative while the packet has not been cut.
    // It is known until all packets up to this one are done.
    struct stream_place {
        frame_sn sn = -1;
        int nibble = 0;
    };
    stream_place start_of(sdu_number n) const {
        return sdus_.holds(n) ? sdus_[n].start : stream_place{};
    }

    const sdu_totals& totals() const { return totals_; }

private:
    struct sdu {
        std::size_t bytes = 0;
        std::size_t nibbles_cut = 0;
        stream_place start;
        int frames = 0;  // open frames that carry a part of it
        bool cut = false;
        bool dropped = false;
    };
    using key = std::pair<frame_sn, int>;
    frame_sn unwrap(wire_sn sn) const { return next_sn() - static_cast<wire_sn>(next_sn() - sn); }
    void close(frame_sn sn, bool dropped);
    void need_boundaries_after(frame_sn sn);
    void need_boundary(frame_sn sn);
    void finish_sdu(sdu_number n);
    void release(const sdu& s);
    void advance_edge();

    stream_room room_;
    sn_ring<tx_frame> frames_;
    sn_ring<sdu> sdus_{128};
    sdu_number cut_ = 0;  // SDUs before this one are completely cut
    std::pmr::unsynchronized_pool_resource pool_;
    std::pmr::map<key, arq_unit> waiting_{&pool_};
    std::pmr::set<frame_sn> pending_boundaries_{
        &pool_};                         // needed, and in no grant that is on its way
    bool next_boundary_needed_ = false;  // the terminal needs that of the next new frame
    sdu_totals totals_;
};

}  // namespace wip
