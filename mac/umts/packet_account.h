// SPDX-License-Identifier: GPL-3.0-or-later
// The fates of the packets of one direction of a bearer: each is queued until the other end has
// reassembled it, and then has one fate.
//
// Packets have numbers in the order in which they are offered. A packet is found by its number, or
// by where it ends in the RLC's stream of PDUs. A record is kept until its fate is certain: one
// that the RLC has discarded may still arrive, and its fate changes then.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "journal/sdu_journal.h"
#include "port/packet_link.h"
#include "umts/ring.h"
#include "umts/rlc_entity.h"

namespace wip::umts {

class packet_account {
public:
    enum class fate : std::uint8_t {
        queued,
        delivered,
        discarded,
        lost_by_reset,
        refused,
        lost,
        too_long,
    };
    struct packet {
        std::uint64_t id;
        int tag;
        std::int64_t offered_ns;
        bool given_up;  // the sender has discarded it
    };

    explicit packet_account(rlc_mode mode) : mode_(mode) {}

    // Journals every packet from now on; null: no longer.
    void follow(sdu_journal* journal) { journal_ = journal; }

    // Returns the number of a packet that is offered; nullopt: the account is full, and it is
    // refused.
    std::optional<std::uint64_t> offer(std::span<const std::uint8_t> packet, int tag,
                                       std::int64_t now_ns);
    packet at(std::uint64_t id) const;
    // The packet goes into the RLC, ...
    void entered(std::uint64_t id, std::int64_t now_ns);
    // ... ends at that place of its PDUs, ...
    void placed(std::uint64_t id, const sdu_position& end, std::int64_t first_sn,
                std::int64_t now_ns);
    // ... and was put together at the other end. nullopt: no packet ends there, it has arrived
    // before, or (without acknowledgements) it has another length than the packet that was offered.
    std::optional<packet> assembled(const sdu_position& end, std::size_t bytes) const;
    // The packet has left the RLC and is on its way for another `for_ns`, where it cannot be lost.
    void leave_rlc(std::uint64_t id, std::int64_t for_ns, std::int64_t now_ns);
    void resolve(std::uint64_t id, fate to, std::int64_t now_ns);
    // Drops each packet that ended before this position (that of a RESET, or that up to which all
    // PDUs have come) and has not been reassembled.
    void lose_before(const sdu_position& end, fate to, std::int64_t now_ns);
    // The RLC is set up anew. Packets offered later than `entered_until_ns` have not entered it yet
    // and are kept.
    void reset(std::int64_t entered_until_ns, std::int64_t now_ns);

    link_sums sums() const;
    packets_bytes of(fate f) const { return sums_[static_cast<std::size_t>(f)]; }
    bool idle() const { return of(fate::queued).packets == 0; }

    sdu_journal* journal() const { return journal_; }

private:
    static constexpr std::size_t fates = 7;
    struct record {
        int tag = 0;
        std::int64_t offered_ns = 0, resolved_ns = 0;
        std::size_t bytes = 0;
        fate state = fate::queued;
        bool placed = false;
        sdu_position end;
        // Placed once, and no longer in the RLC.
        bool has_left_rlc() const { return !placed && end.end > 0; }
    };
    record& record_of(std::uint64_t id) { return records_[id - first_id_]; }
    const record& record_of(std::uint64_t id) const { return records_[id - first_id_]; }
    bool acknowledged() const { return mode_ == rlc_mode::acknowledged; }
    void move(record& r, std::uint64_t id, fate to, std::int64_t now_ns);
    std::size_t place_of(const sdu_position& end) const;
    static const char* reason_of(fate f);

    rlc_mode mode_;
    sdu_journal* journal_ = nullptr;
    ring<record> records_;  // records of packets first_id_, first_id_ + 1, ...
    std::uint64_t first_id_ = 0;
    ring<std::pair<sdu_position, std::uint64_t>> placed_;  // ends and numbers of packets, ascending
    std::array<packets_bytes, fates> sums_;
    packets_bytes in_;
};

}  // namespace wip::umts
