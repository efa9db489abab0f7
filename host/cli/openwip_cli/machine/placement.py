# SPDX-License-Identifier: GPL-3.0-or-later
"""The placement of a cell's processes on the cores.

A slot goes through five processes, one after the other, and each hands over by waking the next. On
one core that costs a few microseconds; across two it costs what the machine asks for, 35 to 80 us
on some, ten times a slot (docs/explanation/slot-path.md). So the slot path (the medium, both macd,
both radios) has one core, and everything else (the applications, telemetry, the launcher) the
others. Nothing is split over two cores: the processes of a slot wait for each other, so a second
core gains little even where wake-ups are cheap.

One process of the slot path can be on another core: a fader, whose delay lies between it and the
others, if no clock waits for it. It would add a third of a core to one of which the rest of a cell
uses half, and the kernel stops real-time processes that fill one (figures/stalls.py). So it has the
next quietest core (`apart`), where there is one.

The core is chosen at the start, among the fastest that this process may use (big and little cores
have different capacities): the one on which the least happened in the last moments, the last of
those alike. Its sibling, if it has one (two threads of one core), stays empty if that leaves a core
for the rest."""

import dataclasses
import functools
import json
import os
import pathlib
import subprocess
import time
from collections.abc import Callable
from typing import Any

from ..errors import not_valid
from . import procfs
from .places import Places

LOOK_S = 0.1
ALIKE = 0.1  # share of a core by which loads have to differ to count as different
PROBE = "host/runtime/wip_machine"


@dataclasses.dataclass
class Placement:
    slot_path: list[int] | None = None  # cores, None: wherever the kernel puts them
    others: list[int] | None = None
    why: str = ""
    # round trip: same_core, other_core
    wake_up_us: dict[str, float] = dataclasses.field(default_factory=dict)
    # cores of the process that the slot path does not wait for; None: those of the slot path
    apart: list[int] | None = None

    def report(self) -> dict[str, Any]:
        return {
            "slot_path": self.slot_path,
            "apart": self.apart,
            "others": self.others,
            "where": self.where(),
            "why": self.why,
            "wake_up_us": self.wake_up_us,
        }

    def cores_of(self, slot_path: bool, apart: bool) -> list[int] | None:
        return (
            self.others
            if not slot_path
            else self.apart
            if apart and self.apart is not None
            else self.slot_path
        )

    @property
    def realtime(self) -> list[int]:
        """Cores on which something real-time runs; none: wherever the kernel puts it."""
        return sorted({*(self.slot_path or ()), *(self.apart or ())})

    def where(self) -> str:
        if self.slot_path is None:
            return "left to the kernel"
        return (
            f"slot path on core {_list(self.slot_path)},"
            f" {f'its fader on {_list(self.apart)}, ' if self.apart else ''}the rest on"
            f" {_list(self.others)}"
        )

    def words(self) -> str:
        wake = ", ".join(
            f"{us:.0f} us {where}"
            for where, us in (
                ("on one core", self.wake_up_us.get("same_core")),
                ("across two", self.wake_up_us.get("other_core")),
            )
            if us is not None
        )
        return f"{self.where()} ({self.why})" + (
            f"; a wake-up and its answer take {wake}" if wake else ""
        )


def _list(cores: list[int] | None) -> str:
    return "+".join(map(str, cores or ()))


@functools.cache
def usable() -> list[int]:
    """The cores that this process could use when it started: it narrows its own set later."""
    return sorted(os.sched_getaffinity(0))


def siblings_of(core: int, sys: str = "/sys") -> set[int]:
    """Cores that share one with this one, itself included."""
    try:
        text = pathlib.Path(
            f"{sys}/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
        ).read_text()
    except OSError:
        return {core}
    found = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found | {core}


# The capacity of the fastest core in the kernel's units; the kernel reports none where all cores are alike.
FULL_CAPACITY = 1024


def capacity_of(core: int, sys: str = "/sys") -> int:
    """How much a core computes, as the kernel knows it of machines with big and little cores."""
    try:
        return int(pathlib.Path(f"{sys}/devices/system/cpu/cpu{core}/cpu_capacity").read_text())
    except (OSError, ValueError):
        return FULL_CAPACITY


def fastest(cores: list[int], capacity: Callable[[int], int] = capacity_of) -> list[int]:
    most = max(map(capacity, cores))
    return [c for c in cores if capacity(c) == most]


def busy_ticks(proc: str = "/proc") -> dict[int, int]:
    """{core: ticks that it did not idle}"""
    return {
        core: sum(t.values()) - t["idle"] - t["iowait"]
        for core, t in procfs.core_ticks(proc).items()
    }


def ticks_to_spare(proc: str = "/proc") -> dict[int, int]:
    """{core: ticks that it idled, or worked for what is niced and gives way}"""
    return {
        core: t["nice"] + t["idle"] + t["iowait"] for core, t in procfs.core_ticks(proc).items()
    }


def share_of_work(seconds: float = LOOK_S) -> dict[int, float]:
    """{core: share of the time that it was busy just now}"""
    before, began = busy_ticks(), time.monotonic()
    time.sleep(seconds)
    after, passed = busy_ticks(), time.monotonic() - began
    return {c: (after[c] - before[c]) / procfs.TICKS / passed for c in after if c in before}


def quietest(cores: list[int], work: dict[int, float]) -> int:
    least = min(work.get(c, 0.0) for c in cores)
    return max(c for c in cores if work.get(c, 0.0) <= least + ALIKE)


def choose(
    cores: list[int],
    work: dict[int, float],
    siblings: Callable[[int], set[int]] = siblings_of,
    apart: bool = False,
    capacity: Callable[[int], int] = capacity_of,
) -> "Placement":
    """Placement among `cores` (ascending). `work`: share_of_work(). `apart`: some process of the
    slot path may have another core."""
    if len(cores) == 1:
        return Placement(cores, cores, "the only core")
    candidates = fastest(cores, capacity)
    core = quietest(candidates, work)
    rest = [c for c in cores if c != core]
    rest = [c for c in rest if c not in siblings(core)] or rest
    if not apart:
        why = "one core beats two" if len(cores) == 2 else "the quietest core"
        return Placement(
            [core],
            rest,
            why if len(candidates) == len(cores) else "the quietest of the fastest cores",
        )
    second = quietest(fastest(rest, capacity), work)
    return Placement(
        [core],
        [c for c in rest if c != second] or rest,
        "a fader's delay bears two cores",
        apart=[second],
    )


def measured(places: Places) -> dict[str, float]:
    """Round trips of wake-ups in us, on the same core and across two; {} when the probe is missing
    or fails."""
    try:
        done = subprocess.run(
            [places.path(PROBE)], capture_output=True, text=True, timeout=5, check=True
        )
        found = json.loads(done.stdout)
        return {
            where: found[where]["round_trip_us"]
            for where in ("same_core", "other_core")
            if where in found
        }
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return {}


def parse(text: str) -> list[int] | str:
    """--cores: auto, none, or cores of the slot path such as 1 or 2,3."""
    if text in ("auto", "none"):
        return text
    try:
        cores = sorted({int(part) for part in text.split(",")})
    except ValueError:
        cores = []
    wrong = [c for c in cores if c not in usable()]
    if not cores or wrong:
        raise not_valid(
            "--cores",
            repr(text),
            f"auto, none, or cores of {_list(usable())} such as {usable()[-1]}",
        )
    return cores


def of_several(index: int) -> "Placement":
    """The `index`th (from 0) of cells that run at the same time: their slot paths go round the
    cores, the fastest first."""
    cores = sorted(usable(), key=capacity_of)
    core = cores[-1 - index % len(cores)]
    return Placement([core], sorted(c for c in cores if c != core) or cores, "one of several cells")


def find(wanted: "Placement | list[int] | str", places: Places, apart: bool = False) -> Placement:
    """The placement of a cell that starts now. `wanted`: from parse() or of_several(). `apart`: see
    choose()."""
    if isinstance(wanted, Placement):
        return wanted
    if wanted == "none":
        return Placement(why="--cores none")
    cores = usable()
    place = (
        choose(cores, share_of_work(), apart=apart)
        if isinstance(wanted, str)
        else Placement(wanted, [c for c in cores if c not in wanted] or cores, "--cores")
    )
    place.wake_up_us = measured(places)
    return place
