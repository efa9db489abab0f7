// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `frames`: the link frames of one slot with their payload, as the base station sends them
// and as the terminal receives them.
#pragma once

#include "link/slot_record.h"
#include "port/link_port.h"
#include "schema/telemetry.pb.h"

namespace wip::host {

// False when the slot has no frames; nothing is to be published then. The grant of the message is
// left empty when it does not pack (the profile `wipemu` has no such limit).
bool fill_frames(const slot_plan& plan, const slot_record& record, link_profile profile, int user,
                 openwip::telemetry::FrameBatch& out);
bool fill_frames(const slot_report& report, link_profile profile, int user,
                 openwip::telemetry::FrameBatch& out);

}  // namespace wip::host
