# SPDX-License-Identifier: GPL-3.0-or-later
"""The one reader of /proc of the command: processes, their threads, the cores.

psutil has the smaller part of it. It knows neither what a thread waited for a core (schedstat) nor page
faults, locked memory, pressure or namespaces, and its start time of a process is computed from the
wall clock, which may be set while a cell runs; here a process is its pid and its start in ticks of the
kernel. Reading state and processor time costs 13 us here and 37 us there, and a command that imports
it begins 18 ms later. The observer reads the same files in C++ (host/observer/process_clock.h), since
it is a process of a cell that no Python runs in."""

import contextlib
import os
import pathlib
import re

TICKS = os.sysconf("SC_CLK_TCK")
CORE_TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")  # proc(5)


# --- processes ---


def pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _stat_fields(pid: int | str, proc: str = "/proc") -> list[str] | None:
    """Fields of a stat file, PID/stat or PID/task/TID/stat, from the third on, or None; the name
    may hold anything."""
    try:
        with open(f"{proc}/{pid}/stat", "rb") as f:
            return f.read().rpartition(b")")[2].decode().split() or None
    except OSError:
        return None


def start_time(pid: int) -> int | None:
    """Ticks since the start of the machine. Together with the pid this identifies a process for
    ever; None if there is none (or a zombie)."""
    fields = _stat_fields(pid)
    return None if fields is None or fields[0] in "ZX" else int(fields[19])


def uptime_s() -> float:
    """Seconds since the start of the machine, which start_time() counts from."""
    with open("/proc/uptime") as f:
        return float(f.read().split()[0])


def name_of(pid: int) -> str | None:
    """The name that a process gives itself; None: there is none."""
    try:
        with open(f"/proc/{pid}/comm", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return None


def state(pid: int) -> tuple[str | None, int | None]:
    """(letter of proc(5), processor time used so far); (None, None): there is no such process."""
    fields = _stat_fields(pid)
    return (None, None) if fields is None else (fields[0], int(fields[11]) + int(fields[12]))


def cpu_seconds(pid: int) -> float | None:
    """User and system time of all threads of a process so far."""
    _, used = state(pid)
    return None if used is None else used / TICKS


def page_faults(pid: int) -> tuple[int, int] | None:
    """(that took a page of the memory, that waited for the disk) of all threads of a process so
    far; None: there is none."""
    fields = _stat_fields(pid)
    return None if fields is None else (int(fields[7]), int(fields[9]))


def locks_memory(pid: int) -> bool | None:
    """True if its mapped memory is locked, or some of it; None: there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text(errors="replace")
    except OSError:
        return None
    found = re.search(r"^VmLck:\s*(\d+)", text, re.M)
    return found is not None and int(found[1]) > 0


# --- threads ---


def threads_of(pid: int, proc: str = "/proc") -> list[str]:
    try:
        return os.listdir(f"{proc}/{pid}/task")
    except OSError:
        return []


def has_realtime_thread(pid: int) -> bool | None:
    """The kernel grants one of its threads real-time priority (SCHED_FIFO); None: there is no such
    process."""
    policies = []
    for thread in threads_of(pid):
        with contextlib.suppress(ProcessLookupError):  # the thread has ended meanwhile
            policies.append(os.sched_getscheduler(int(thread)))
    return any(p & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO for p in policies) if policies else None


def schedstat(pid: int, thread: str, proc: str = "/proc") -> tuple[int, int, int] | None:
    """(ns run, ns ready without a core, how often it got one) of a thread so far; None: it has
    ended. A kernel that does not count says 0 of all."""
    try:
        with open(f"{proc}/{pid}/task/{thread}/schedstat", "rb") as f:
            run, waited, times = map(int, f.read().split())
    except (OSError, ValueError):
        return None
    return run, waited, times


def waited_s(pid: int, proc: str = "/proc") -> dict[str, float] | None:
    """{thread: seconds ready without a core} of a process; None where the kernel does not tell."""
    found = {t: schedstat(pid, t, proc) for t in threads_of(pid, proc)}
    return {t: s[1] * 1e-9 for t, s in found.items() if s is not None and s[2]} or None


def worked(pid: int, proc: str = "/proc") -> tuple[float, float]:
    """(seconds run, seconds ready without a core) of a process so far."""
    found = [s for t in threads_of(pid, proc) if (s := schedstat(pid, t, proc)) is not None]
    return sum(s[0] for s in found) * 1e-9, sum(s[1] for s in found) * 1e-9


def ready_threads(pid: int, proc: str = "/proc") -> dict[str, tuple[int, int, int]]:
    """{thread: how far it has run, its schedstat()} of the threads of a process that run or would
    if they had a core."""
    return {
        t: ran
        for t in threads_of(pid, proc)
        if (fields := _stat_fields(f"{pid}/task/{t}", proc)) is not None
        and fields[0] == "R"
        and (ran := schedstat(pid, t, proc)) is not None
    }


# --- cores ---


def core_ticks(proc: str = "/proc") -> dict[int, dict[str, int]]:
    """{core: {what: ticks}} since the start of the machine."""
    found = {}
    for line in pathlib.Path(f"{proc}/stat").read_text().splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name != "cpu":
            found[int(name[3:])] = dict(zip(CORE_TICKS, map(int, fields)))
    return found


def pressure_us(path: pathlib.Path | str = "/proc/pressure/cpu") -> int | None:
    """Microseconds in which some task of the machine waited for a core; None: not known."""
    try:
        with open(path, "rb") as f:
            return int(f.readline().split()[-1].removeprefix(b"total="))
    except (OSError, IndexError, ValueError):
        return None
