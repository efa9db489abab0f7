// SPDX-License-Identifier: GPL-3.0-or-later
// The sending side of an acknowledged RLC entity (TS 25.322, 9.4, 9.7, 11.3, 11.6): segmentation
// and concatenation, transmit window, retransmissions (first in the queue, lowest SN first), polls,
// discard.
//
// A PDU is made when there is room for it in a transmission time interval and lies in a ring until
// everything up to it is acknowledged. An SDU is held until then; the queue is those that wait.
//
// Polls: a trigger sets the poll bit of the PDU that is being sent, or waits for the prohibit timer
// and then for the next PDU. A poll that is due by a timer and has no PDU to go with takes the last
// one that is not acknowledged. VT(DAT) of TS 25.322 counts such a transmission like any other, so
// a PDU that has been sent max_dat times is discarded in place of its repetition. With max_dat 1
// there are no retransmissions "except for the sake of polling" (Teyeb 2006, 5.3.4), which then go
// on until the PDU is acknowledged. am_config::poll_counted chooses when such transmissions count.
//
// Discard drops the SDUs up to and including the one concerned. PDUs that hold nothing else are not
// sent again, and MRW is sent to the receiver until it answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "umts/am_config.h"
#include "umts/pdu.h"

namespace wip::umts {

struct am_transmitter_counts {
    std::uint64_t pdus = 0, retransmissions = 0, polls = 0, for_polls = 0, discarded = 0, moves = 0,
                  refused = 0;
};

class am_transmitter {
public:
    // The last PDU of an SDU has been made. `id` is that of on_sdu(); the other arguments tell
    // where the SDU ends, and in which PDU it begins.
    using placed_fn =
        std::function<void(std::uint64_t id, const sdu_position&, std::int64_t first_sn)>;
    // An SDU is discarded; it may have arrived nevertheless.
    using discarded_fn = std::function<void(std::uint64_t id)>;
    am_transmitter(const am_config& config, placed_fn placed, discarded_fn discarded);

    // False: the queue is full, or the SDU is too long.
    bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id, std::int64_t now_ns);

    // The next data PDU into `pdu` (pdu_bytes), with `status` piggybacked, of at most
    // padding_ahead() octets. False: there is none to send.
    bool next_pdu(std::span<std::uint8_t> pdu, std::span<const std::uint8_t> status,
                  std::int64_t now_ns);
    bool has_pdu() const;
    // The padding of the next PDU, after the LI.
    std::size_t padding_ahead() const;

    // Handles a STATUS PDU. False: it acknowledges data that was never sent, and a RESET is due.
    bool on_status(const status_content& s);
    // The same of a single PDU, without a status: it has arrived, or has to be sent again.
    void on_arrival(std::uint16_t sn);
    void on_loss(std::uint16_t sn);
    // The MRW that a STATUS PDU has to carry now; taken with it.
    std::optional<window_move> move_due() const { return move_due_ ? move_ : std::nullopt; }
    void move_sent(std::int64_t now_ns);
    // Whether max_dat or max_mrw has been reached in such a way that a RESET has to follow.
    bool reset_due() const { return reset_due_; }
    // Discards the SDUs of which anything was sent, and begins anew with SN 0.
    void reset(std::uint32_t epoch);

    void advance(std::int64_t now_ns);
    std::int64_t next_wakeup() const;

    std::size_t held_sdus() const { return count_; }
    // The number of SDUs with octets that have not been sent.
    std::size_t waiting_sdus() const { return count_ - std::min(unsent_, count_); }
    std::int64_t acknowledged() const { return first_sn_; }  // VT(A)
    std::int64_t next_sn() const { return next_sn_; }        // VT(S)
    int window() const { return window_; }
    const am_transmitter_counts& counts() const { return counts_; }

private:
    struct stored {
        std::vector<std::uint8_t> bytes;
        padding padding_place;
        int transmissions = 0;
        std::uint32_t named_in_status = 0;  // number of the last status that reported it missing
        bool acknowledged = false;
        bool waiting = false;      // for its retransmission
        bool is_obsolete = false;  // its SDUs are discarded: it is not sent again
        bool ends_sdu = false;
    };
    struct held {
        std::vector<std::uint8_t> data;
        std::uint64_t id = 0;
        std::int64_t since_ns = 0, first_sn = -1, end_sn = -1;
        int taken = 0;  // octets that are in PDUs
        int end = 0;    // number of its own end among the SDU ends in its last PDU
        bool is_discarded = false, begins_pdu = false;
    };
    stored& at(std::int64_t sn) { return ring_[static_cast<std::size_t>(sn) % ring_.size()]; }
    const stored& at(std::int64_t sn) const {
        return ring_[static_cast<std::size_t>(sn) % ring_.size()];
    }
    held& sdu(std::size_t i) { return sdus_[(front_ + i) % sdus_.size()]; }
    const held& sdu(std::size_t i) const { return sdus_[(front_ + i) % sdus_.size()]; }
    bool can_make_pdu() const;
    std::int64_t absolute(std::uint16_t sn) const {
        return first_sn_ + (sn - first_sn_ % sn_space + sn_space) % sn_space;
    }
    bool is_stale(const status_content& s) const;
    bool is_wrong(const status_content& s) const;
    std::int64_t take_missing(const status_content& s);
    void take_ack(std::int64_t up_to);
    void make_pdu();
    std::int64_t retransmission() const;
    std::int64_t poll_candidate() const;
    bool poll_wanted(const stored& s, bool first_time) const;
    void send(std::int64_t sn, std::span<std::uint8_t> pdu, std::span<const std::uint8_t> status,
              bool first_time, std::int64_t now_ns);
    bool got_through(const held& h) const;
    void discard_up_to(std::size_t sdus);
    bool max_dat_counts() const {
        return config_.discard == discard_mode::after_max_dat ||
               config_.discard == discard_mode::reset;
    }
    bool polls_count() const {
        return max_dat_counts() && (config_.poll_counted == poll_counting::always ||
                                    (config_.poll_counted == poll_counting::with_retransmissions &&
                                     config_.max_dat > 1));
    }
    void on_max_dat(std::int64_t sn);
    void on_move_ack(const window_move& m);
    void slide();
    void drop_front();
    void grow();

    am_config config_;
    placed_fn placed_;
    discarded_fn discarded_;
    std::vector<stored> ring_;
    std::vector<held> sdus_;
    std::size_t front_ = 0, count_ = 0;  // first and number of SDUs in the ring sdus_
    std::size_t unsent_ = 0;             // the first SDU with octets that are in no PDU yet
    pdu_builder builder_;
    std::vector<std::uint8_t> data_;
    pdu_content content_;
    pdu_builder::carry carry_ = pdu_builder::carry::nothing;
    std::size_t carried_sdu_ = 0;              // the SDU whose end the LI of the next PDU tells
    std::int64_t first_sn_ = 0, next_sn_ = 0;  // VT(A), VT(S)
    std::uint32_t epoch_ = 0;
    int window_;
    int waiting_ = 0;  // number of PDUs that wait for their retransmission

    int pdus_since_poll_ = 0, sdus_since_poll_ = 0;
    bool poll_due_ = false;  // by a timer, or after the prohibit timer
    bool poll_deferred_ = false;
    std::int64_t poll_timer_ns_ = -1, poll_period_ns_ = -1, prohibited_until_ns_ = 0;
    std::int64_t polled_up_to_ = 0;  // VT(S) when the poll was sent

    std::optional<window_move> move_;
    std::int64_t move_sn_ = 0, move_timer_ns_ = -1;
    int moves_sent_ = 0;
    bool move_due_ = false, reset_due_ = false;
    // A part of the last dropped SDU was sent, and the rest never will be: the receiver could take
    // the next PDU for that rest and assemble a wrong SDU, so no PDU is sent until the receiver has
    // moved on.
    bool blocked_by_discard_ = false;
    std::uint32_t status_count_ = 0;  // STATUS PDUs so far
    am_transmitter_counts counts_;
};

}  // namespace wip::umts
