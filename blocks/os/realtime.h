// SPDX-License-Identifier: GPL-3.0-or-later
// Real-time priority for the threads of the slot path, all the same one: a thread hands over to the
// next by going to sleep, and none of them preempts another. The class is SCHED_FIFO, so that a
// slot does not wait for anything else that needs the core.
//
// A guard keeps a fault from taking the machine: a real-time thread that runs for longer than
// longest_run_ms without ever sleeping gets SIGXCPU from the kernel (RLIMIT_RTTIME) and goes back
// to ordinary priority, for good. The kernel's own limit (sched_rt_runtime_us, 95 %) remains as a
// second guard.
#pragma once

namespace wip::os {

inline constexpr int slot_path_priority = 10;
inline constexpr int longest_run_ms = 300;

// Gives the calling thread a real-time priority, 1 .. 99; one thread in each process may have it,
// and threads that it makes begin without. False if the kernel does not grant it (no right, or a
// control group without a share); then everything works, but later. The process locks its memory
// (memory_lock.h) in either case.
bool use_realtime(int priority = slot_path_priority) noexcept;
// Whether the guard has taken the priority away.
bool realtime_was_taken() noexcept;

}  // namespace wip::os
