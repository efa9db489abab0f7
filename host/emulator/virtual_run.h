// SPDX-License-Identifier: GPL-3.0-or-later
// The emulated cell with the TCP of a Linux kernel at both its ends, in virtual time: cell and
// kernel (host/virtual) on one calendar. Interface 0 of the kernel is the server's, the next ones
// are the terminals'. The kernel does what the plan in its folder says (host/virtual/guest.c) and
// is ended when it has written its result and the link is drained.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "emulator/emulator_config.h"

namespace wip::emulator {

struct virtual_config {
    std::string kernel;  // the program
    std::string folder;  // root file system of the kernel: init, plan
    double first_s = 0;  // when the first and the last counts are taken
    double last_s = 0;
    double longest_s = 3600;  // of virtual time; a run that is not over by then is given up
    std::string telemetry;    // file: what the cell tells (runtime/telemetry_file.h); empty: none
    std::string packets;      // file: all IP packets at the kernel's interfaces (pcap); empty: none
};

// Writes one JSON object: statuses of both ends at the first count, at the last, and when
// everything is drained; virtual and wall time, packets at the interfaces. Throws
// std::runtime_error when the kernel fails or does not come to an end.
void run_virtual(const emulator_config& config, const virtual_config& v, std::ostream& out);

}  // namespace wip::emulator
