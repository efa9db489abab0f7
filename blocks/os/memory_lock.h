// SPDX-License-Identifier: GPL-3.0-or-later
// A page that has to come from the disk makes a slot late. What this process has mapped, and maps
// later, stays in memory once it has been used (MCL_ONFAULT: stacks and reserves that nothing
// touches cost nothing). Programs and libraries are read ahead, so that their first use waits for
// no disk either.
//
// Where RLIMIT_MEMLOCK is finite and cannot be raised, only CAP_IPC_LOCK allows the lock, and the
// process drops that capability: the kernel would then refuse all that it maps later, and its stack
// to grow. In that case only what is mapped now is locked, without the stack.
#pragma once

#include <cstddef>

namespace wip::os {

// Locks the memory once in a process; later calls return what the first one did. False: nothing is
// locked, without which everything still works.
bool lock_memory() noexcept;

// Maps the pages of memory that this process has already and may read, so that their first use
// costs no page fault. A kernel older than 5.14 cannot do it; everything still works then, with
// page faults.
void map_pages(const void* begin, std::size_t octets) noexcept;

}  // namespace wip::os
