// SPDX-License-Identifier: GPL-3.0-or-later
// The damaged path between two interfaces of a Linux kernel in virtual time (host/virtual):
// interface 0 is the sender's, 1 the receiver's.
#pragma once

#include <iosfwd>

#include "tcpl/tcpl_config.h"
#include "virtual/guest_run.h"

namespace wip::tcpl {

// Writes one JSON object: the status of the path when everything is through, the time that took.
// Throws peer_error when the kernel fails or does not come to an end.
void run_virtual(const tcpl_config& config, const virtual_time::run_config& v, std::ostream& out);

}  // namespace wip::tcpl
