// SPDX-License-Identifier: GPL-3.0-or-later
// System calls that the kernel takes from a process (seccomp). The limits of a confined reader keep
// it from opening, writing and starting anything; without a filter it could still, taken over by a
// file, end or change other processes of the same account, and remove, rename and own its files.
#pragma once

namespace wip::trace {

// Installs a filter: from now on every thread of this process has the system calls of
// reading_calls.tsv and no others, which fail with EPERM. It cannot be undone. no_new_privs has to
// be set. Where the kernel has no filters (and in QEMU's user mode) nothing happens. Throws
// machine_error.
void allow_reading_calls_only();

}  // namespace wip::trace
