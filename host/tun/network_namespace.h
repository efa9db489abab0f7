// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a function in another network namespace than that of the process: the calling thread enters
// it, runs the function, and comes back, also when the function throws. What it made (an interface,
// a socket) stays there.
#pragma once

#include <functional>
#include <string>

namespace wip {

// `network_namespace` is a name as in /run/netns; empty: that of the process. `key` names the
// setting in errors. Throws bad_input (one line) for a namespace that is not there or
// cannot be entered or left, and whatever `act` throws.
void in_network_namespace(const std::string& network_namespace, const std::string& key,
                          const std::function<void()>& act);

}  // namespace wip
