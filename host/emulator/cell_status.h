// SPDX-License-Identifier: GPL-3.0-or-later
// The counters of an emulated cell as MacStatus of its base station and of its terminal: the sum
// over the users, with the wired network in it, and each user's own where there are several. What
// the interfaces count (`delivered` there) is added by them.
#pragma once

#include "cell/emulated_cell.h"
#include "emulator/delayed_pair.h"
#include "relay/snoop.h"
#include "schema/control.pb.h"

namespace wip::emulator {

void fill_base(const cell_model::emulated_cell& cell, openwip::control::MacStatus& status);
void fill_terminal(const cell_model::emulated_cell& cell, openwip::control::MacStatus& status);

// Packets that delay injection holds are queued at the base station: they are added to a cell's
// counts.
void add_held(const delayed_pair& links, openwip::control::MacStatus& status);
// Fills in the agent's counts, and adds the copies that it sent again to what came in.
void fill_snoop(const snoop& agent, openwip::control::MacStatus& status);
// Fills in the status of the delay injection if one of both stages is on.
void fill_delay_injection(const delayed_pair& links, openwip::control::MacStatus& status);

}  // namespace wip::emulator
