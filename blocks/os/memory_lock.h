// SPDX-License-Identifier: GPL-3.0-or-later
// A page that has to come from the disk makes a slot late. What this process has mapped, and maps
// later, stays in memory once it has been used (MCL_ONFAULT: stacks and reserves that nothing
// touches cost nothing). Programs and libraries are read ahead, so that their first use waits for
// no disk either.
//
// Where RLIMIT_MEMLOCK is finite and cannot be raised, CAP_IPC_LOCK is behind it, and the process
// gives that up: the kernel would then refuse all that it maps later, and its stack to grow. There
// only what is mapped now is locked, but for the stack.
#pragma once

#include <cstddef>

namespace wip::os {

// Locks the memory once in a process; later calls return what the first one did. False: nothing is
// locked, without which everything still works.
bool lock_memory() noexcept;

// Maps the pages of memory that this process has already and may read, so that their first use
// costs no page fault. A kernel older than 5.14 does not know how; all works without, later.
void map_pages(const void* begin, std::size_t octets) noexcept;

}  // namespace wip::os
