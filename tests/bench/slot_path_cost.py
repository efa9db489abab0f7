# SPDX-License-Identifier: GPL-3.0-or-later
"""The cost of a slot in the processes that it goes through, read from /proc while a cell runs:
context switches, processor time (user, kernel), time ready without a core. Nothing is added to the
processes."""

import dataclasses
import pathlib
import time
from typing import Any

from openwip_cli.machine import procfs
from openwip_cli.machine.procfs import threads_of


@dataclasses.dataclass
class Counts:
    """The counts of a process so far, all its threads; times in seconds."""

    switches: int = 0  # voluntary: it went to sleep
    preemptions: int = 0  # involuntary: somebody else came first
    user_s: float = 0.0
    kernel_s: float = 0.0
    run_s: float = 0.0  # seconds by the scheduler's count, exact to the nanosecond
    waited_s: float = 0.0  # ready, without a core

    def __add__(self, other: Any) -> "Counts":
        return Counts(
            *(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other)))
        )

    def __sub__(self, other: Any) -> "Counts":
        return Counts(
            *(a - b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other)))
        )


def counts_of_thread(pid: int, thread: Any, proc: str = "/proc") -> "Counts | None":
    """The counts of a thread; None when it has ended."""
    folder = pathlib.Path(f"{proc}/{pid}/task/{thread}")
    try:
        status = dict(
            line.split(":", 1)
            for line in (folder / "status").read_text().splitlines()
            if ":" in line
        )
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        run_ns, waited_ns, _ = map(int, (folder / "schedstat").read_text().split())
    except (OSError, ValueError):
        return None
    return Counts(
        int(status["voluntary_ctxt_switches"]),
        int(status["nonvoluntary_ctxt_switches"]),
        int(fields[11]) / procfs.TICKS,
        int(fields[12]) / procfs.TICKS,
        run_ns * 1e-9,
        waited_ns * 1e-9,
    )


def counts_of(pid: int, proc: str = "/proc") -> dict[Any, Any]:
    """{thread: Counts}"""
    found = {t: counts_of_thread(pid, t, proc) for t in threads_of(pid, proc)}
    return {t: c for t, c in found.items() if c is not None}


def difference(before: Any, after: Any) -> Any:
    """The counts of the threads that were there both times."""
    total = Counts()
    for thread, counts in after.items():
        if thread in before:
            total += counts - before[thread]
    return total


def per_slot(counts: Any, slots: int) -> dict[str, Any]:
    """The counts of one process, as the bench prints it; times in microseconds a slot."""
    return {
        "switches": counts.switches / slots,
        "preemptions": counts.preemptions / slots,
        "user_us": counts.user_s / slots * 1e6,
        "kernel_us": counts.kernel_s / slots * 1e6,
        "processor_us": counts.run_s / slots * 1e6,
        "waited_us": counts.waited_s / slots * 1e6,
    }


def measure(
    pids: dict[str, int], seconds: float, slots_so_far: Any, sleep: Any = time.sleep
) -> Any:
    """{process: per_slot(...), "total": ...} over so many seconds of the wall clock. `pids`: {name:
    pid}. `slots_so_far()`: the number of slots, since a cell that cannot keep its pace makes fewer
    than the clock asks for."""
    before, first = {n: counts_of(p) for n, p in pids.items()}, slots_so_far()
    sleep(seconds)
    after, slots = {n: counts_of(p) for n, p in pids.items()}, max(1, slots_so_far() - first)
    found = {n: difference(before[n], after[n]) for n in pids}
    total = sum(found.values(), Counts())
    return {n: per_slot(c, slots) for n, c in found.items()} | {"total": per_slot(total, slots)}
