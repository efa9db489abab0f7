# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes that a slot goes through: whether they had a core, read from /proc while a cell
runs, and whose a stall was. Nothing is added to the processes."""

import dataclasses
import json
import pathlib
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from ..shapes import Share, Stall, Stalls
from . import placement, procfs
from .places import Places

Found = TypeVar("Found")
PROCESSES = ("air", "fader", "base.macd", "base.radio", "terminal.macd", "terminal.radio")
EVERY_S = 0.2
# A medium that is behind by no more than three slots has not stalled: the retransmission delay of a
# cell with radios covers that.
NO_STALL_S = 2e-3


def steal_s(cores: list[int] | None = None, proc: str = "/proc") -> float:
    """Seconds that a hypervisor took so far, mean over these cores (None: all)."""
    taken = [
        t["steal"] / procfs.TICKS
        for core, t in procfs.core_ticks(proc).items()
        if cores is None or core in cores
    ]
    return sum(taken) / len(taken) if taken else 0.0


@dataclasses.dataclass
class Moment:
    at: float  # wall clock, s
    most_behind_s: float  # how far the medium has been behind its schedule at worst so far
    steal_s: float  # steal_s()
    counts: dict[str, tuple[float, float]]  # process -> worked()


def blame(a: Moment, b: Moment) -> str:
    """A sentence about what kept the medium behind between two moments."""
    passed = b.at - a.at
    taken = b.steal_s - a.steal_s
    ran, waited = (
        {n: b.counts[n][i] - a.counts[n][i] for n in b.counts if n in a.counts} for i in (0, 1)
    )
    waited.pop("air", None)  # the medium lets the stations run first, by its priority
    if not ran:
        return "not known"

    def most(seconds: dict[str, float]) -> tuple[str, str]:
        name = max(seconds, key=seconds.__getitem__)
        return name, f"{seconds[name] * 1e3:.0f} of {passed * 1e3:.0f} ms"

    # Time stolen from a running thread counts as its run time, so it is looked at first.
    if taken > 0.05 * passed:
        return (
            f"a hypervisor took the slot path's core for {taken * 1e3:.0f} of {passed * 1e3:.0f} ms"
        )
    if sum(ran.values()) > 0.85 * passed:
        return "the slot path worked all the time, {} most ({}): too slow for this pace".format(
            *most(ran)
        )
    if waited and max(waited.values()) > 0.2 * passed:
        return "{} was ready and had no core for {}".format(*most(waited))
    return "the processes slept; of them {} had worked most ({})".format(*most(ran))


class StallWatch(threading.Thread):
    """Reads five times a second how far the medium has been behind at worst, and keeps the two
    moments between which that last grew. `most_behind`: a function that returns it in seconds, or
    None; `pids`: of the processes, by name; `cores`: those of the slot path, None: all."""

    def __init__(
        self,
        pids: dict[str, int],
        most_behind: Callable[[], float | None],
        cores: list[int] | None = None,
        every: float = EVERY_S,
    ) -> None:
        super().__init__(daemon=True)
        self.pids, self.most_behind, self.cores, self.every = pids, most_behind, cores, every
        self.over = threading.Event()
        self.first: Moment | None = None
        self.last: Moment | None = None
        self.worst: tuple[Moment, Moment] | None = None

    def run(self) -> None:
        while not self.over.is_set():
            self.look()
            self.over.wait(self.every)

    def look(self) -> None:
        most = self.most_behind()
        if most is None:
            return
        now = Moment(
            time.monotonic(),
            most,
            steal_s(self.cores),
            {n: procfs.worked(p) for n, p in self.pids.items()},
        )
        self.first = self.first or now
        if self.last is not None and (self.worst is None or most > self.last.most_behind_s):
            self.worst = (self.last, now)
        self.last = now

    def report(self) -> Stall:
        """`stolen`: share of the slot path's cores; {} when nothing was seen."""
        self.over.set()
        self.join(2)
        if self.worst is None or self.first is None or self.last is None:
            return {}
        longest, passed = self.last.most_behind_s, self.last.at - self.first.at
        return {
            "longest_ms": longest * 1e3,
            "whose": blame(*self.worst) if longest > NO_STALL_S else "none",
            "stolen": (self.last.steal_s - self.first.steal_s) / passed if passed > 0 else 0.0,
        }


class PageFaults:
    """Counts the page faults of the slot path's processes, from its construction to report()."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = {n: p for n, p in pids.items() if n in PROCESSES}
        self.before = self._now()

    def _now(self) -> dict[str, tuple[int, int]]:
        return {
            n: found for n, p in self.pids.items() if (found := procfs.page_faults(p)) is not None
        }

    def report(self) -> dict[str, dict[str, int]]:
        """{process: {"minor", "major"}}; a major one waited for the disk."""
        return {
            n: {kind: now[i] - self.before[n][i] for i, kind in enumerate(("minor", "major"))}
            for n, now in self._now().items()
            if n in self.before
        }


def granted(pids: dict[str, int]) -> dict[str, Any]:
    """The core time that the kernel grants the slot path's processes, by name; None: the process
    does not exist any more."""
    own_pids = {n: p for n, p in pids.items() if n in PROCESSES}
    return {
        "realtime_priority": {n: procfs.has_realtime_thread(p) for n, p in own_pids.items()},
        "memory_locked": {n: procfs.locks_memory(p) for n, p in own_pids.items()},
    }


class StallMonitor:
    """Watches whether the machine stalls, by threads of a higher priority than the slot path, one
    on each of its cores: they were woken late if it did (blocks/os/stalls.h). On a clock that does
    not wait that costs slots, and no program can mend it."""

    def __init__(self, cores: list[int], places: Places) -> None:
        self.cores = cores
        self.processes = [
            subprocess.Popen(
                [places.path(placement.PROBE), "standstills", str(core), f"{NO_STALL_S * 1e3:g}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for core in cores
        ]

    def report(self) -> Stalls | None:
        """The report of the core that stalled worst; None: it could not be measured (no core of its
        own, no real-time priority)."""
        found = [one for one in map(report_of, self.processes) if one is not None]
        return (
            worst_of(dict(zip(self.cores, found, strict=True)))
            if found and len(found) == len(self.processes)
            else None
        )


def report_of(process: subprocess.Popen[str]) -> Stalls | None:
    try:
        found: Stalls = json.loads(process.communicate(timeout=2)[0])
        return found
    except (ValueError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
        return None


def worst_of(found: dict[int, Stalls]) -> Stalls:
    """The report of the core that was stalled longest, with its number, and the longest `held_back`
    of any core. They are not added: a machine that stalls does so on all of its cores at
    once."""
    if len(found) == 1:
        return next(iter(found.values()))

    core, held = (
        max(found, key=lambda c: found[c]["together_ms"]),
        max(found, key=lambda c: found[c]["held_back"]["together_ms"]),
    )
    worst, back = found[core].copy(), found[held]["held_back"].copy()
    back["core"], worst["core"], worst["held_back"] = held, core, back
    return worst


def on_its_core(by_name: dict[str, Found], place: placement.Placement) -> dict[str, Found]:
    """The entries of `by_name` (name of a process: value) whose processes share the slot path's
    core."""
    return {
        n: v for n, v in by_name.items() if n in PROCESSES and not (n == "fader" and place.apart)
    }


def realtime_share(
    cpu: dict[str, float], place: placement.Placement, proc: str = "/proc"
) -> Share | None:
    """How much of its core the slot path used over a test, and how much of each period the kernel
    allows real-time processes. `cpu`: cores that each process used, by name. None: the slot path
    does not have exactly one core, or the kernel has no limit."""
    try:
        runtime, period = (
            int(pathlib.Path(proc, f"sys/kernel/sched_rt_{what}_us").read_text())
            for what in ("runtime", "period")
        )
    except (OSError, ValueError):
        return None
    on_it = list(on_its_core(cpu, place).values())
    if len(place.slot_path or ()) != 1 or not on_it or runtime < 0:
        return None
    return {"used": round(sum(on_it), 4), "allowed": runtime / period}
