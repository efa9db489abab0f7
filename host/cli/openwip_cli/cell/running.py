# SPDX-License-Identifier: GPL-3.0-or-later
"""A cell that is up: found by its name, and queried over its control sockets."""

import contextlib
import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import BadInput, CellDied
from ..figures import facts
from ..machine import procfs, system
from ..messages import control
from ..shapes import Interface
from . import cell as cells
from .cell import Cell
from .supervisor import SupervisorClient


def running_cell(name: str) -> Cell:
    system.require_root()
    cell = cells.Cell(name)
    if not cell.is_up():
        others = cells.up()
        raise BadInput(
            f"no cell is up that is called {name}: start one with ./openwip demo --keep"
            + (f", or --name {' or '.join(others)}" if others else "")
        )
    return cell


def cell_lives(cell: Cell) -> bool:
    supervisor = cell.state.get("keeper")
    return supervisor is not None and procfs.start_time(supervisor[0]) == supervisor[1]


STILL_S = 0.3  # seconds between two readings that have to agree
REST_TRIES = 5  # pairs of readings that are compared until two agree


def asked(supervisor: SupervisorClient, endpoint: control.Control) -> Any:
    """Status, or CellDied: a process that does not answer for 5 s counts as dead."""
    for _ in range(10):
        supervisor.pause(0)
        with contextlib.suppress(control.NoAnswer):
            return endpoint.status(0.5)
    supervisor.blame(f"{endpoint.endpoint} does not answer")


class Running:
    """A cell whose processes are up: what its control sockets say."""

    def __init__(self, cell: Cell, supervisor: SupervisorClient) -> None:
        self.cell, self.supervisor = cell, supervisor
        self.NoAnswer = control.NoAnswer
        self.air = control.Control(cell.endpoint("air.control"))
        self.base = control.Control(cell.endpoint("base.control"))
        self.terminal = control.Control(cell.endpoint("terminal.control"))

    @property
    def keeper(self) -> SupervisorClient:
        """The old name of `supervisor`, for workloads of version 0."""
        warnings.warn(
            "cell.keeper is called cell.supervisor; the old name goes with the next release",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.supervisor

    def ask(self, endpoint: control.Control) -> Any:
        return asked(self.supervisor, endpoint)

    def statuses(self) -> facts.Statuses:
        return facts.Statuses(self.ask(self.air), self.ask(self.base), self.ask(self.terminal))

    def kernel_counts(self) -> dict[str, Interface]:
        """The kernel's counts that a verdict compares with those of the processes."""
        return tun_counts(self.cell)

    def at_rest(self, speed: float = 1.0) -> tuple[facts.Statuses, dict[str, Interface] | None]:
        """read_at_rest() of this cell."""
        return read_at_rest(
            self.statuses,
            lambda s: s.counts,
            self.kernel_counts,
            lambda: self.supervisor.pause(STILL_S / min(1.0, speed)),
        )


def tun_counts(cell: Cell) -> dict[str, Interface]:
    """The kernel's counts at the interfaces: to_macd = read by macd, from_macd = written by it; for
    several terminals the sum."""
    terminals = [interface_counts(cell, station) for station in cell.terminals]
    return {
        "base": interface_counts(cell, cell.link_end),
        "terminal": {
            "to_macd": added([c["to_macd"] for c in terminals]),
            "from_macd": added([c["from_macd"] for c in terminals]),
        },
    }


def added(counts: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return sum(packets for packets, _ in counts), sum(octets for _, octets in counts)


def interface_counts(cell: Cell, station: str, interface: str = "wip0") -> Interface:
    if not system.namespace_exists(cell.namespace(station)):
        raise CellDied(f"the network namespace {cell.namespace(station)} was deleted from outside")
    text = system.ip("-n", cell.namespace(station), "-s", "-j", "link", "show", interface)
    stats = json.loads(text)[0]["stats64"]
    return {
        "to_macd": (stats["tx"]["packets"], stats["tx"]["bytes"]),
        "from_macd": (stats["rx"]["packets"], stats["rx"]["bytes"]),
    }


Status = TypeVar("Status")
Kernel = TypeVar("Kernel")


def read_at_rest(
    status: Callable[[], Status],
    counts: Callable[[Status], object],
    kernel: Callable[[], Kernel],
    pause: Callable[[], object],
    tries: int = REST_TRIES,
) -> tuple[Status, Kernel | None]:
    """(status, the kernel's counts) that belong to one moment, so that they can be compared; the
    latter None where something moved in each of the `tries`. Processes and kernel cannot be read at
    once. But counts only grow: where two readings with `pause()` between them agree, nothing moved
    meanwhile, and the second status was read between two equal counts of the kernel."""
    now = status()
    before = counts(now), kernel()
    for _ in range(tries):
        pause()
        now = status()
        read = counts(now), kernel()
        if read == before:
            return now, read[1]
        before = read
    return now, None


def drain(running: Running, speed: float = 1.0, limit_s: int = 30) -> None:
    """Wait until all queues are empty and nothing changes any more."""
    previous = None

    def quiet() -> bool:
        nonlocal previous
        now = running.statuses()
        still = now.counts == previous
        previous = now.counts
        return still and not now.queued

    running.supervisor.wait_until(quiet, limit_s / speed, every=0.15 / min(1, speed))
