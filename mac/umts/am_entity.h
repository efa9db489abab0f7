// SPDX-License-Identifier: GPL-3.0-or-later
// An acknowledged RLC entity: a sending and a receiving side that share the PDUs of one direction
// (TS 25.322, 4.2.1.3), and RESET (11.4). Its owner takes PDUs from it in each transmission time
// interval and gives it those that come; it has no clock.
//
// Order within an interval: RESET, its answer, status (piggybacked where the next data PDU has room
// for it), data. While a RESET waits for its answer nothing else is sent or taken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "umts/am_receiver.h"
#include "umts/am_transmitter.h"

namespace wip::umts {

struct am_counts {
    std::uint64_t status_pdus = 0, piggybacked = 0, resets = 0, resets_taken = 0, malformed = 0;
};

class am_entity {
public:
    struct events {
        am_transmitter::placed_fn placed = [](auto, const auto&, auto) {};
        am_transmitter::discarded_fn discarded = [](auto) {};
        am_receiver::deliver_fn deliver = [](auto, const auto&) {};
    };
    am_entity(const am_config& config, events e) : am_entity(config, config, std::move(e)) {}
    // The PDUs that it sends and those that it receives may differ in size.
    am_entity(const am_config& sends, const am_config& takes, events e);

    bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id, std::int64_t now_ns) {
        return transmitter_.on_sdu(sdu, id, now_ns);
    }
    void on_pdu(std::span<const std::uint8_t> pdu, std::int64_t now_ns);
    // Call once before the PDUs of an interval.
    void advance(std::int64_t now_ns);
    // False: there is none.
    bool next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns);
    bool has_pdu(std::int64_t now_ns) const;
    // The earliest time at which it may have a PDU, if nothing comes.
    std::int64_t next_wakeup(std::int64_t now_ns) const;
    // Outcomes of PDUs that it sent, where they are known without a status.
    void on_arrival(std::uint16_t sn) { transmitter_.on_arrival(sn); }
    void on_loss(std::uint16_t sn) { transmitter_.on_loss(sn); }
    // Sets the window that the peer may use from now on, in PDUs. It is sent at once, and again
    // with each status, since one may be lost. The peer uses no more than it is configured for.
    void ask_for_window(int pdus) {
        window_ = pdus;
        window_due_ = true;
    }
    // A RESET was not answered max_reset times: nothing works any more.
    bool failed() const { return failed_; }
    // Number of RESETs so far, of both ends together.
    std::uint32_t epoch() const { return epoch_; }

    const am_transmitter& transmitter() const { return transmitter_; }
    const am_receiver& receiver() const { return receiver_; }
    const am_counts& counts() const { return counts_; }

private:
    void on_control(std::span<const std::uint8_t> pdu);
    void on_reset(const reset_content& r);
    void take_status(std::span<const std::uint8_t> pdu);
    bool status_wanted(std::int64_t now_ns) const;
    std::size_t make_status(std::int64_t now_ns);
    void begin_again();

    am_config config_;
    am_transmitter transmitter_;
    am_receiver receiver_;
    status_content content_;
    std::vector<std::uint8_t> status_;
    int window_ = 0;  // window granted to the peer, in PDUs; 0: it is not sent
    bool window_due_ = false;
    bool awaiting_reset_ack_ = false, reset_rsn_ = false, reset_to_send_ = false, failed_ = false;
    int resets_sent_ = 0;
    std::int64_t reset_timer_ns_ = -1;
    int peer_rsn_ = -1;  // sequence number of the peer's last RESET; -1: none has come
    bool reset_ack_due_ = false;
    std::uint32_t epoch_ = 0;
    am_counts counts_;
};

}  // namespace wip::umts
