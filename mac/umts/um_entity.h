// SPDX-License-Identifier: GPL-3.0-or-later
// Unacknowledged and transparent RLC (TS 25.322, 11.2, 11.1). An SDU of which a PDU is missing is
// not delivered; nothing is sent again.
//
// Unacknowledged: SDUs are cut and concatenated in PDUs with a number of 7 bits. The first PDU of
// an SDU tells that the SDU begins, unless the LI of the SDU before it does. Transparent: an SDU
// has the PDUs of one transmission time interval to itself, without any header; the bearer keeps
// them together.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "umts/am_config.h"
#include "umts/pdu.h"

namespace wip::umts {

struct um_config {
    int pdu_bytes = 41;
    int queue_sdus = 200;
    int largest_sdu = 1500;
    std::int64_t discard_ns =
        0;  // an SDU of which nothing has been sent by then is discarded; 0: none is
};

struct um_counts {
    std::uint64_t pdus = 0, sdus = 0, refused = 0, discarded = 0, missing = 0, malformed = 0;
};

class um_transmitter {
public:
    // The same as those of am_transmitter.h, with PDUs counted from 0.
    using placed_fn =
        std::function<void(std::uint64_t id, const sdu_position&, std::int64_t first_pdu)>;
    using discarded_fn = std::function<void(std::uint64_t id)>;
    explicit um_transmitter(
        const um_config& config, placed_fn placed = [](auto, const auto&, auto) {},
        discarded_fn discarded = [](auto) {});
    bool on_sdu(std::span<const std::uint8_t> sdu, std::int64_t now_ns, std::uint64_t id = 0);
    // Discards SDUs that have waited for longer than discard_ns.
    void advance(std::int64_t now_ns);
    bool has_pdu() const { return count_ > 0 || carry_ != pdu_builder::carry::nothing; }
    bool next_pdu(std::span<std::uint8_t> pdu, std::int64_t now_ns);
    std::size_t held_sdus() const { return count_; }
    const um_counts& counts() const { return counts_; }

private:
    struct held {
        std::vector<std::uint8_t> data;
        std::uint64_t id = 0;
        std::int64_t since_ns = 0, first_pdu = 0;
        int taken = 0;
    };
    held& front() { return sdus_[front_]; }
    void drop_front();

    um_config config_;
    placed_fn placed_;
    discarded_fn discarded_;
    std::uint64_t carried_id_ = 0;  // the SDU whose end the LI of the next PDU tells
    std::int64_t carried_first_pdu_ = 0;
    std::vector<held> sdus_;
    std::size_t front_ = 0, count_ = 0;
    pdu_builder builder_;
    pdu_builder::carry carry_ = pdu_builder::carry::nothing;
    std::vector<std::uint8_t> data_;
    int sn_ = 0;
    bool begins_ = true;  // the next PDU begins with an SDU, and no LI has announced it
    um_counts counts_;
};

class um_receiver {
public:
    using deliver_fn = std::function<void(std::span<const std::uint8_t> sdu)>;
    um_receiver(const um_config& config, deliver_fn deliver);
    void on_pdu(std::span<const std::uint8_t> pdu);
    // The number, among the ends in its PDU, of the end of the SDU that is being delivered.
    int end() const { return end_; }
    const um_counts& counts() const { return counts_; }

private:
    um_config config_;
    int end_ = 0;
    deliver_fn deliver_;
    pdu_content content_;
    std::vector<std::uint8_t> sdu_;
    int next_ = -1;
    bool whole_ = false;  // what sdu_ holds is an SDU from its beginning
    um_counts counts_;
};

// The number of PDUs of an SDU in transparent mode, and the octets of one of them, counted from 0.
// All but the last have `pdu_bytes` octets.
constexpr int tm_pdus(int sdu_bytes, int pdu_bytes) {
    return (sdu_bytes + pdu_bytes - 1) / pdu_bytes;
}
std::span<const std::uint8_t> tm_pdu(std::span<const std::uint8_t> sdu, int pdu_bytes, int index);

// Puts the PDUs of an interval together. If one of them is missing, nothing is delivered.
class tm_receiver {
public:
    using deliver_fn = um_receiver::deliver_fn;
    explicit tm_receiver(deliver_fn deliver) : deliver_(std::move(deliver)) {
        sdu_.reserve(longest_sdu);
    }
    // An empty PDU: it was lost.
    void on_pdu(std::span<const std::uint8_t> pdu);
    void end_of_interval();

private:
    deliver_fn deliver_;
    std::vector<std::uint8_t> sdu_;
    bool damaged_ = false;
};

}  // namespace wip::umts
