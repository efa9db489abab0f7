# SPDX-License-Identifier: GPL-3.0-or-later
"""What a slot costs in the processes that it goes through, read from /proc while a cell runs: context switches,
processor time (user, kernel), time ready without a core. Nothing is added to the processes."""
import dataclasses
import os
import pathlib
import threading
import time
from typing import Any

from . import system

PROCESSES = ("air", "base.macd", "base.radio", "terminal.macd", "terminal.radio")
EVERY_S = 0.2
NO_STALL_S = 2e-3       # behind: that is three slots, the loop bears it


@dataclasses.dataclass
class Counts:
    """Of a process so far, all its threads; times in seconds."""
    switches: int = 0           # voluntary: it went to sleep
    preemptions: int = 0        # involuntary: somebody else came first
    user_s: float = 0.0
    kernel_s: float = 0.0
    run_s: float = 0.0          # as the scheduler counts, to the nanosecond
    waited_s: float = 0.0       # ready, without a core

    def __add__(self, other: Any) -> "Counts":
        return Counts(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def __sub__(self, other: Any) -> "Counts":
        return Counts(*(a - b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


def threads_of(pid: int, proc: str = "/proc") -> Any:
    try:
        return os.listdir(f"{proc}/{pid}/task")
    except OSError:
        return []


def counts_of_thread(pid: int, thread: Any, proc: str = "/proc") -> "Counts | None":
    """None when it has ended."""
    folder = pathlib.Path(f"{proc}/{pid}/task/{thread}")
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        run_ns, waited_ns, _ = map(int, (folder / "schedstat").read_text().split())
    except (OSError, ValueError):
        return None
    return Counts(int(status["voluntary_ctxt_switches"]), int(status["nonvoluntary_ctxt_switches"]),
                  int(fields[11]) / system.TICKS, int(fields[12]) / system.TICKS, run_ns * 1e-9, waited_ns * 1e-9)


def counts_of(pid: int, proc: str = "/proc") -> dict[Any, Any]:
    """{thread: Counts}"""
    found = {t: counts_of_thread(pid, t, proc) for t in threads_of(pid, proc)}
    return {t: c for t, c in found.items() if c is not None}


def worked(pid: int, proc: str = "/proc") -> tuple[Any, Any]:
    """(seconds run, seconds ready without a core) of a process so far."""
    run = waited = 0
    for t in threads_of(pid, proc):
        try:
            with open(f"{proc}/{pid}/task/{t}/schedstat", "rb") as f:
                run_ns, waited_ns, _ = map(int, f.read().split())
        except (OSError, ValueError):
            continue
        run, waited = run + run_ns, waited + waited_ns
    return run * 1e-9, waited * 1e-9


def difference(before: Any, after: Any) -> Any:
    """Of the threads that were there both times."""
    total = Counts()
    for thread, counts in after.items():
        if thread in before:
            total += counts - before[thread]
    return total


def steal_s(cores: list[int] | None = None, proc: str = "/proc") -> Any:
    """Seconds that a hypervisor took so far, mean over these cores (None: all)."""
    taken = [t["steal"] / system.TICKS for core, t in system.core_ticks(proc).items() if cores is None or core in cores]
    return sum(taken) / len(taken) if taken else 0.0


def per_slot(counts: Any, slots: int) -> dict[str, Any]:
    """Of one process, as the bench prints it; times in microseconds a slot."""
    return {"switches": counts.switches / slots, "preemptions": counts.preemptions / slots,
            "user_us": counts.user_s / slots * 1e6, "kernel_us": counts.kernel_s / slots * 1e6,
            "processor_us": counts.run_s / slots * 1e6, "waited_us": counts.waited_s / slots * 1e6}


def measure(pids: dict[str, int], seconds: float, slots_so_far: Any, sleep: Any = time.sleep) -> Any:
    """{process: per_slot(...), "total": ...} over so many seconds of the wall clock. `pids`: by name. `slots_so_far`: a
    function; a cell that cannot hold its pace makes fewer than the clock asks for."""
    before, first = {n: counts_of(p) for n, p in pids.items()}, slots_so_far()
    sleep(seconds)
    after, slots = {n: counts_of(p) for n, p in pids.items()}, max(1, slots_so_far() - first)
    found = {n: difference(before[n], after[n]) for n in pids}
    total = sum(found.values(), Counts())
    return {n: per_slot(c, slots) for n, c in found.items()} | {"total": per_slot(total, slots)}


# --- whose a stall was ---

@dataclasses.dataclass
class Moment:
    at: float               # wall clock, s
    most_behind_s: float    # of the medium against its schedule, at worst so far
    steal_s: float          # steal_s()
    counts: dict            # process -> worked()


def blame(a: Any, b: Any) -> str:
    """In words: what kept the medium behind between two moments."""
    passed = b.at - a.at
    taken = b.steal_s - a.steal_s
    ran, waited = ({n: b.counts[n][i] - a.counts[n][i] for n in b.counts if n in a.counts} for i in (0, 1))
    waited.pop("air", None)     # it lets the stations go first, by its priority
    if not ran:
        return "not known"

    def most(of: Any) -> tuple[Any, Any]:
        name = max(of, key=of.get)
        return name, f"{of[name] * 1e3:.0f} of {passed * 1e3:.0f} ms"
    # What is stolen from a running thread counts as its run time, so it is looked at first.
    if taken > 0.05 * passed:
        return f"a hypervisor took the slot path's core for {taken * 1e3:.0f} of {passed * 1e3:.0f} ms"
    if sum(ran.values()) > 0.85 * passed:
        return "the slot path worked all the time, {} most ({}): too slow for this pace".format(*most(ran))
    if waited and max(waited.values()) > 0.2 * passed:
        return "{} was ready and had no core for {}".format(*most(waited))
    return "the processes slept; of them {} had worked most ({})".format(*most(ran))


class StallWatch(threading.Thread):
    """Looks five times a second how far the medium has been behind at worst, and keeps the two moments between which
    that rose last. `most_behind`: a function, seconds or None; `pids`: by name; `cores`: of the slot path, None: all."""

    def __init__(self, pids: dict[str, int], most_behind: Any, cores: list[int] | None = None, every: float = EVERY_S) -> None:
        super().__init__(daemon=True)
        self.pids, self.most_behind, self.cores, self.every = pids, most_behind, cores, every
        self.over = threading.Event()
        self.first: Any = None
        self.last: Any = None
        self.worst: Any = None      # worst: (Moment, Moment)

    def run(self) -> None:
        while not self.over.is_set():
            self.look()
            self.over.wait(self.every)

    def look(self) -> None:
        most = self.most_behind()
        if most is None:
            return
        now = Moment(time.monotonic(), most, steal_s(self.cores), {n: worked(p) for n, p in self.pids.items()})
        self.first = self.first or now
        if self.last is not None and (self.worst is None or most > self.last.most_behind_s):
            self.worst = (self.last, now)
        self.last = now

    def report(self) -> dict[str, Any]:
        """{"longest_ms", "whose", "stolen": share of the slot path's cores}; {} when nothing was seen."""
        self.over.set()
        self.join(2)
        if self.worst is None:
            return {}
        longest, passed = self.last.most_behind_s, self.last.at - self.first.at
        return {"longest_ms": longest * 1e3, "whose": blame(*self.worst) if longest > NO_STALL_S else "none",
                "stolen": (self.last.steal_s - self.first.steal_s) / passed if passed > 0 else 0.0}
