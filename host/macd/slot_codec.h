// SPDX-License-Identifier: GPL-3.0-or-later
// The structs of port/link_port.h and link/feedback.h as messages of the schemas, and back. What
// comes in from a socket is not trusted: every index, size and enum is checked, so that the MAC
// sees only reports that a receiver could have made. The functions that read return nullptr when
// all is well, else a constant text that says what is not.
#pragma once

#include "link/feedback.h"
#include "port/link_port.h"
#include "schema/slot_link.pb.h"
#include "schema/uplink.pb.h"

namespace wip::host {

// No sensible slot number is outside 0 .. 2^42: 93 years of slots, as of a radio that has GPS time
// or the time since 1970. In nanoseconds they still fit 63 bits (types/slot_time.h).
inline constexpr std::int64_t largest_slot = std::int64_t{1} << 42;
constexpr bool plausible_slot(std::int64_t s) { return s >= 0 && s < largest_slot; }

void write_plan(const slot_plan& plan, openwip::slot_link::SlotPlan& out);
const char* read_report(const openwip::slot_link::SlotReport& in, link_profile profile,
                        slot_report& out);
void write_feedback(const slot_feedback& feedback, openwip::uplink::Feedback& out);
const char* read_feedback(const openwip::uplink::Feedback& in, slot_feedback& out);

}  // namespace wip::host
