// SPDX-License-Identifier: GPL-3.0-or-later
// One end of a bearer: an RLC entity of any mode, as the bearer uses it. The number of a PDU is its
// sequence number before it is reduced by the modulus of the header. A transparent PDU has no
// sequence number; its number is that of its SDU.
//
// Acknowledged: am_entity.h. Unacknowledged and transparent: those of um_entity.h, with a queue and
// a timer that discards SDUs of which nothing has been sent. A transparent SDU has the PDUs of an
// interval to itself, so one that no interval has enough PDUs for is discarded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "umts/am_config.h"
#include "umts/pdu.h"

namespace wip::umts {

struct rlc_counts {
    std::uint64_t pdus = 0;  // PDUs with data
    // 0 where nothing is acknowledged:
    std::uint64_t retransmissions = 0, polls = 0, status_pdus = 0, piggybacked = 0, resets = 0;
    std::int64_t window_used = 0;
    std::uint64_t discarded = 0;  // SDUs
    std::uint64_t held = 0;       // SDUs
    // Octets of SDUs that were received and not handed out: now, and at most so far.
    std::int64_t received = 0, most_received = 0;
};

class rlc_entity {
public:
    struct events {
        // The last PDU of an SDU is being made: where the SDU ends, and in which PDU it begins.
        std::function<void(std::uint64_t id, const sdu_position&, std::int64_t first_number)>
            placed;
        std::function<void(std::uint64_t id)> discarded;
        std::function<void(std::uint64_t id)> too_long;
        std::function<void(std::span<const std::uint8_t> sdu, const sdu_position&)> deliver;
    };
    struct sent {
        std::size_t bytes = 0;     // 0: there was no PDU
        std::int64_t number = -1;  // -1: no data
        bool again = false;        // it is a retransmission
    };

    virtual ~rlc_entity() = default;
    virtual bool on_sdu(std::span<const std::uint8_t> sdu, std::uint64_t id,
                        std::int64_t now_ns) = 0;
    // A PDU has arrived; an empty one stands for a PDU that was lost.
    virtual void on_pdu(std::span<const std::uint8_t> pdu, std::int64_t number,
                        std::int64_t now_ns) = 0;
    // All PDUs of an interval have been given to on_pdu().
    virtual void end_of_interval() {}
    // An interval begins into which `pdus` PDUs fit; `most` fit into the largest interval.
    virtual void begin_interval(int pdus, int most, std::int64_t now_ns) = 0;
    virtual sent next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns) = 0;
    virtual bool has_pdu(std::int64_t now_ns) const = 0;
    // The earliest time at which it may have a PDU, if nothing comes.
    virtual std::int64_t next_wakeup(std::int64_t now_ns) const = 0;
    virtual rlc_counts counts() const = 0;
    // In acknowledged mode only.
    // The outcome of a PDU that it sent, where it is known without a status.
    virtual void on_arrival(std::int64_t /*number*/) {}
    virtual void on_loss(std::int64_t /*number*/) {}
    virtual void ask_for_window(int /*pdus*/) {}
    virtual bool failed() const { return false; }
    virtual std::uint32_t epoch() const { return 0; }
};

// Octets of a PDU's header.
constexpr int header_of(rlc_mode mode) {
    return mode == rlc_mode::transparent      ? 0
           : mode == rlc_mode::unacknowledged ? header_bytes(data_mode::unacknowledged)
                                              : header_bytes(data_mode::acknowledged);
}

// The number of sequence numbers of a mode; 0: its PDUs have none.
constexpr int numbers_of(rlc_mode mode) {
    return mode == rlc_mode::transparent      ? 0
           : mode == rlc_mode::unacknowledged ? um_sn_space
                                              : sn_space;
}

// Makes an entity of this mode with the configuration of the direction that it sends and of the one
// that it receives; modes without acknowledgement use only sizes, queue and discard by timer.
std::unique_ptr<rlc_entity> make_entity(rlc_mode mode, const am_config& sends,
                                        const am_config& takes, rlc_entity::events e);

}  // namespace wip::umts
