// SPDX-License-Identifier: GPL-3.0-or-later
// A cell that plays recorded samples (demo --replay-iq): it has no base station and no goodput, and
// its verdict is neither valid nor invalid.
#pragma once

#include "schema/telemetry.pb.h"

namespace wip::gui {

inline bool is_replayed(const openwip::telemetry::Verdict& v) { return v.command() == "replay"; }

}  // namespace wip::gui
