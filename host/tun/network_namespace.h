// SPDX-License-Identifier: GPL-3.0-or-later
// To do something in another network namespace than that of the process: the calling thread enters
// it, acts, and comes back, also when the act throws. What the act made (an interface, a socket)
// stays there.
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
