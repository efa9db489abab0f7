# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that every command with a cell shares: the owner of the cell, its end in every case,
the messages on its sockets, and the report to the shell."""

import contextlib
import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..errors import BadInput, CellDied, Terminated, catch, not_valid
from ..machine import placement, procfs, rights, system
from ..machine.places import Places, versions
from ..machine.reason import Cause
from ..messages import control
from ..settings.scenario import Scenario
from . import cell as cells
from .cell import Cell
from .process import Process
from .supervisor import SupervisorClient, not_ended

START_TIMEOUT_S = 30
LOOK_S = 0.2  # how long another command that looks at a directory may keep it
OBSERVER = "host/observer/wip_observer"


class Progress:
    """Phase lines on standard error, so that standard output holds the report only."""

    def __init__(self) -> None:
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"[{time.monotonic() - self.began:6.1f} s] {text}", file=sys.stderr, flush=True)


# --- the machine ---


def check_congestion_control(wanted: str) -> None:
    there = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if wanted not in there:
        raise not_valid("--tcp-cc", wanted, f"what this kernel has, {', '.join(there)}")


def take_over(cell: Cell, progress: Callable[[str], None]) -> None:
    """Become the owner of the cell's name; remove what a killed run left of it, and the empty
    directories that killed launchers left of other cells."""
    cells.up()
    # Whoever looks whether the cell is up has the lock for a moment.
    if not system.wait_until(cell.acquire, LOOK_S):
        raise BadInput(f"a cell '{cell.name}' is already up: run ./openwip down{cell.named}")
    left = cell.leftovers()
    if left:
        progress(f"removing what an earlier run left: {', '.join(left)}")
        if running_on := cell.remove():
            raise CellDied(not_ended(cell, list(map(str, running_on))))
        if not cell.acquire():  # the lock was on the removed directory
            raise BadInput(f"a cell '{cell.name}' is already up: run ./openwip down{cell.named}")
    foreign = [n for n in cell.namespaces if system.namespace_exists(n)]
    if foreign:
        raise BadInput(
            f"network namespace {foreign[0]} exists and was not made by OpenWIP: remove it "
            f"(ip netns del {foreign[0]}) or use --name"
        )


# --- a running cell ---


class CpuClock:
    """CPU time of processes over an interval, in cores."""

    def __init__(self, pids: dict[str, int]) -> None:
        self.pids = pids
        self.began = self._read()

    def _read(self) -> tuple[float, dict[str, float | None]]:
        return time.monotonic(), {n: procfs.cpu_seconds(p) for n, p in self.pids.items()}

    def cores(self) -> dict[str, float]:
        now, seconds = self._read()
        t0, before = self.began
        return {
            n: round((s - b) / (now - t0), 4)
            for n in self.pids
            if (s := seconds[n]) is not None and (b := before[n]) is not None
        }


def start_process(
    supervisor: SupervisorClient, process: Process, endpoint: control.Control
) -> None:
    """Starts the process and waits until it answers. `endpoint`: its control socket."""
    supervisor.start(process)
    if not supervisor.wait_until(endpoint.answers, START_TIMEOUT_S):
        supervisor.blame(f"{process.name} does not answer on its control socket")


def place(
    supervisor: SupervisorClient,
    wanted: placement.Placement | list[int] | str,
    places: Places,
    progress: Callable[[str], None],
    apart: bool,
) -> None:
    """Chooses the cores of the cell, and keeps this process and those that it starts itself off the
    cores of the slot path."""
    supervisor.placement = placement.find(wanted, places, apart)
    progress(supervisor.placement.words())
    if supervisor.placement.others is not None:
        os.sched_setaffinity(0, supervisor.placement.others)


def start_observers(supervisor: SupervisorClient, cell: Cell, command: str, places: Places) -> None:
    """Starts the observers: the cell lives without them (their death is in the verdict)."""
    run = {"OPENWIP_RUN": str(cell.run)}
    stations = ",".join(f"{s}={cell.namespace(s)}" for s in cell.stations)
    supervisor.start(
        Process(
            "observer",
            [
                places.program(OBSERVER),
                "--set",
                f"stations={stations}",
                "--set",
                f"user={system.account()[0]}",
            ],
            run,
            essential=False,
        )
    )
    supervisor.start(
        Process(
            "judge",
            places.module("judge", cell.name, command, len(cell.terminals)),
            run,
            essential=False,
            capabilities=rights.VERDICT_MONITOR_AT_FIRST,
        )
    )


# --- one run ---


@contextlib.contextmanager
def owned_cell(
    name: str,
    progress: Callable[[str], None],
    terminals: int = 1,
    base: bool = True,
    controller: bool = False,
) -> Iterator[tuple[Cell, SupervisorClient]]:
    """The cell's name and its supervisor for as long as the block runs; nothing of the cell is left
    afterwards, however the block ends, unless supervisor.detach() was called."""
    cell = cells.Cell(name, terminals, base, controller)
    before = catch() if threading.current_thread() is threading.main_thread() else {}
    supervisor: SupervisorClient | None = None
    try:
        take_over(cell, progress)
        if system.account()[0] != system.ACCOUNT:
            progress(
                f"no account '{system.ACCOUNT}' (sudo ./openwip setup makes it): the processes run"
                " as nobody"
            )
        if lacking := rights.lacking():
            progress(f"this root has {lacking}")
        supervisor = SupervisorClient(cell)
        yield cell, supervisor
    finally:
        for signum in before:
            signal.signal(signum, signal.SIG_IGN)
        if supervisor is None and cell.lock is not None:
            cell.remove()
        elif supervisor is not None and not supervisor.over:
            kind = sys.exc_info()[0]
            supervisor.end(
                "stopped by a signal"
                if kind is Terminated
                else "the launcher failed"
                if kind is not None
                else "the run is over",
                Cause.ASKED if kind in (None, Terminated) else Cause.FAILED,
            )
        if supervisor is not None:
            supervisor.channel.close()
        cell.release()
        for signum, handler in before.items():
            signal.signal(signum, handler)


def identity(scenario: Scenario, places: Places) -> dict[str, Any]:
    """The description of a run, whatever its result."""
    return {"config": scenario.tree(), "seed": scenario["seed"], "versions": versions(places)}
