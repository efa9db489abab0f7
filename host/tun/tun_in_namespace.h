// SPDX-License-Identifier: GPL-3.0-or-later
// An interface in another network namespace than that of the process: one process can so hold both
// ends of a path. The calling thread enters the namespace, makes the interface, and comes back.
#pragma once

#include <string>

#include "tun/tun_device.h"

namespace wip {

// `network_namespace` is a name as in /run/netns; empty: that of the process. `key` names the
// setting in errors. Throws bad_input, also for a namespace that is
// not there or cannot be entered or left.
tun_device make_tun_in(const std::string& network_namespace, const tun_settings& settings,
                       const std::string& key);

}  // namespace wip
