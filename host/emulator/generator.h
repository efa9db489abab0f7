// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated cell in virtual time, as fast as the machine can: every user's queue at the base
// station is kept full of packets (offered until one is refused, before each slot), past the wired
// network; what comes out is compared with what went in. No interface, no clock, no privileges.
//
// A packet is IPv4 with UDP's protocol number, its own number behind the header and a pattern of
// that number in the rest.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "emulator/emulator_config.h"

namespace wip::emulator {

struct generator_config {
    double seconds = 30;
    double warm_up_seconds = 0.5;  // seconds before the first count
    int packet_bytes = 1500;       // 32..1500
    int rate_pps = 0;              // packets a second of each user instead of a full queue; 0: full
};

// Writes one JSON object: statuses of both ends (control.proto as JSON) at the first count, at the
// last one, and when everything has drained; wall time, slots; numbers of packets that were
// altered, damaged and out of order.
void generate(const emulator_config& config, const generator_config& generator, std::ostream& out);

}  // namespace wip::emulator
