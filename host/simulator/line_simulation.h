// SPDX-License-Identifier: GPL-3.0-or-later
// The line of tcp-l with ns-3's TCP at its ends. Without the relay: what is damaged ends at ns-3's
// interface (link_channel.h), as at a host's checksum.
#pragma once

#include <iosfwd>
#include <string>

#include "tcpl/tcpl_config.h"

namespace wip::simulator {

// Simulates until the traffic of the plan is over, or so many seconds. Writes the object of
// tcpl/path_status.h with `damaged` (packets dropped at the receiver's interface) and `flows`, of
// which each end reports something that has ended in that time, and `ns3`, its version. Throws
// std::invalid_argument for the plan and for a configuration with a relay.
void run_line(const tcpl::tcpl_config& config, const std::string& plan, double seconds,
              std::ostream& out);

}  // namespace wip::simulator
