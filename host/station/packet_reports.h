// SPDX-License-Identifier: GPL-3.0-or-later
// The terminal's reports about packets (rlc/delivery_log.h) as a message of the uplink, and back.
#pragma once

#include <vector>

#include "rlc/delivery_log.h"
#include "schema/uplink.pb.h"
#include "types/quantity.h"

namespace wip::host {

void write_reports(const delivery_log& log, wire_sn decided_before, std::uint64_t watch,
                   openwip::uplink::PacketReports& out);
// Checks and reads reports that came from a socket. Returns nullptr if all are valid, else what is
// wrong. `now`: slot of the message.
const char* read_reports(const openwip::uplink::PacketReports& in, slot now,
                         std::vector<packet_report>& out);

}  // namespace wip::host
