// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `receiver`: what the terminal's receiver saw in one slot, from the report's detail, its
// grant and the receiver's last state.
#pragma once

#include "port/link_port.h"
#include "schema/slot_link.pb.h"
#include "schema/telemetry.pb.h"

namespace wip::host {

// nullptr when all is well, else what is not; `out` is unfinished then.
const char* fill_receiver(const openwip::slot_link::ReceiverDetail& detail,
                          const slot_report& report, const openwip::receiver::State& state,
                          openwip::telemetry::ReceiverSample& out);

}  // namespace wip::host
