// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated cell with the TCP of a Linux kernel at both its ends, in virtual time: cell and
// kernel (host/virtual) on one calendar. Interface 0 of the kernel is the server's, the next ones
// are the terminals'. The kernel does what the plan in its folder says (host/virtual/guest.cpp) and
// is ended when it has written its result and the link is drained.
#pragma once

#include <iosfwd>
#include <string>

#include "emulator/emulator_config.h"
#include "emulator/path_run.h"
#include "virtual/guest_run.h"

namespace wip::emulator {

struct virtual_config {
    virtual_time::run_config run;
    run_times times;
};

// Writes what a path_run does. Throws peer_error when the kernel fails.
void run_virtual(const emulator_config& config, const virtual_config& v, std::ostream& out);

}  // namespace wip::emulator
