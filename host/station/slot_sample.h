// SPDX-License-Identifier: GPL-3.0-or-later
// Topic `slot`: what happened in the 25 bins of one slot, as each end knows it. The base station's
// sample is about a slot whose feedback has come or is missing (its outcome is what was
// acknowledged), so it comes a retransmission delay after the slot; `slot` of the message says
// which one it is about.
#pragma once

#include "link/slot_record.h"
#include "port/link_port.h"
#include "schema/telemetry.pb.h"

namespace wip::host {

// Value in `user` of a bin that has no terminal.
inline constexpr char no_user = static_cast<char>(255);

// `outcome`: good = acknowledged, bad = not acknowledged, unknown = the terminal did not say, or
// did not decode the grant. `user` is left empty: the caller that shares out the bins sets it.
void fill_sample(const slot_record& record, openwip::telemetry::SlotSample& sample);

// `horizon`: slots ahead of the report that its predictions are for; 0: not known.
void fill_sample(const slot_report& report, int horizon, openwip::telemetry::SlotSample& sample);

}  // namespace wip::host
