// SPDX-License-Identifier: GPL-3.0-or-later
// Configuration of an acknowledged RLC entity (TS 25.322, 9.5 to 9.7). Times are nanoseconds; 0:
// that timer, counter or trigger is not used.
#pragma once

#include <cstdint>

#include "types/setting_limits.h"
#include "umts/status.h"

namespace wip::umts {

// The treatment of an SDU that does not get through.
enum class discard_mode : std::uint8_t {
    never,          // sent again until it has arrived
    after_max_dat,  // dropped after max_dat transmissions of a PDU, receiver notified (MRW)
    reset,          // the same, by RESET of both ends
    timer,          // dropped after discard_ns, receiver notified (MRW)
};

// Whether a transmission of a PDU that serves only to carry a poll counts towards max_dat, so that
// the PDU's SDU may be discarded after it.
enum class poll_counting : std::uint8_t {
    never,
    with_retransmissions,  // it counts if max_dat is above 1, that is, if there are retransmissions
    always,
};

struct am_config {
    int pdu_bytes = 42;       // 8 .. 5000
    int window = 1024;        // PDUs, 1 .. 4095
    int queue_sdus = 200;     // SDUs that wait, 1 .. 100000
    int largest_sdu = 1500;   // 1 .. 65535
    bool in_sequence = true;  // SDUs are delivered in sequence
    bool special_he = false;  // HE = 2 where a PDU ends with an SDU

    // Triggers of a poll.
    bool poll_last = true;  // last PDU of the buffer or the window
    bool poll_last_retransmitted = true;
    int poll_pdus = 0;  // every nth PDU
    int poll_sdus = 0;  // last PDU of every nth SDU
    // A poll is due when this share of the window is in use.
    int poll_window_percent = setting::umts_poll_window_percent.initial;
    std::int64_t poll_period_ns = 0;
    std::int64_t poll_timer_ns = 300'000'000;
    std::int64_t poll_prohibit_ns = 0;

    // Triggers of a status.
    bool status_missing = true;  // each new PDU while one before it is missing
    std::int64_t status_period_ns = 0;
    std::int64_t status_prohibit_ns = 100'000'000;
    missing_format format = missing_format::list;

    discard_mode discard = discard_mode::after_max_dat;
    int max_dat = setting::umts_max_dat.initial;  // transmissions of a PDU
    poll_counting poll_counted = poll_counting::with_retransmissions;
    std::int64_t discard_ns = 0;  // age at which mode `timer` drops an SDU
    std::int64_t mrw_timer_ns = 300'000'000;
    int max_mrw = 8;  // transmissions of an MRW, then RESET
    std::int64_t reset_timer_ns = 300'000'000;
    int max_reset = 8;  // transmissions of a RESET, then the entity has failed

    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

// The position of an SDU's end: the number of resets before it (`epoch`), its PDU (`sn`), and its
// number (`end`: 0, 1, ..) among the SDU ends in that PDU.
struct sdu_position {
    std::uint32_t epoch = 0;
    std::int64_t sn = 0;
    int end = 0;
    auto operator<=>(const sdu_position&) const = default;
};

}  // namespace wip::umts
