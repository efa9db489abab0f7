// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters of a radio bearer of UMTS, and the check that they fit together.
#pragma once

#include <cstdint>
#include <vector>

#include "umts/am_config.h"
#include "umts/bearer_profile.h"
#include "umts/block_errors.h"
#include "umts/rlc_entity.h"
#include "umts/rrc.h"

namespace wip::umts {

// A period of time; it begins at a time of the owner's clock.
struct episode {
    std::int64_t at_ns = 0, length_ns = 0;
    std::int64_t end_ns() const { return at_ns + length_ns; }
};

// How an acknowledged sender learns what became of its PDUs.
enum class feedback : std::uint8_t {
    status,  // by the receiver's status reports
    known,   // without reports: a lost PDU is at the head of the queue again_ns after its interval
};

struct bearer_config {
    bearer_profile profile = bearer_profiles().front();
    rlc_mode mode = rlc_mode::acknowledged;
    am_config rlc;  // pdu_bytes comes from the profile; each mode uses the parts that it has
    block_error_config errors_down, errors_up;
    bool pdus_alone = false;  // a PDU is a block of its own for the errors, not all of an interval
    // An SDU that the sender has discarded is not delivered, even if the PDUs on their way complete
    // it. A simulator that implements both ends in one does so (Teyeb 2006, B.1.4).
    bool given_up_is_final = false;
    feedback outcome = feedback::status;
    std::int64_t again_ns = 60'000'000;
    rrc_config control;
    std::vector<episode> spikes;   // no block begins in one, either way: what waits comes later
    std::vector<episode> outages;  // every block that begins in one is lost
    int granted_window = 0;        // PDUs that a receiver grants its peer; 0: rlc.window
    std::uint64_t seed = 1;
    void check() const;  // throws std::invalid_argument naming key, value and what would be valid
};

}  // namespace wip::umts
