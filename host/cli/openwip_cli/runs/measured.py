# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of a cell with both its stations, from the first counter to the verdict. demo and emulate
say what they start and what more their reports have; the rest is here."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..cell.running import drain
from ..figures import capacities, conservation, facts, link_counts, live_changes, own_code
from ..machine import slot_path
from ..measure.applications import ApplicationClock, heard, watching
from ..messages.control import Control, TelemetryWatch
from ..shapes import Interface, Realtime
from . import phases
from .run import DRAIN_LIMIT_S, MeasuredCell

Workload = Callable[[MeasuredCell], dict[str, Any] | None]


class MeasuredRun(phases.Run):
    """A run with a measured interval. `workload(cell)` returns {"tcp", "cpu", "failed" (reasons),
    ...}; the remaining entries become `workload_result`."""

    watch: TelemetryWatch
    applications: ApplicationClock
    now: facts.Statuses  # statuses at the end
    kernel: dict[str, Interface] | None
    realtime: Realtime

    def __init__(
        self, cell: MeasuredCell, workload: Workload, progress: Callable[[str], None]
    ) -> None:
        super().__init__()
        self.cell, self.workload, self.progress = cell, workload, progress
        self.workload_result: dict[str, Any] = {}

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        with watching(self.cell.cell) as (self.watch, self.applications):
            yield

    def begin_anew(self) -> tuple[Control, ...]:
        """Processes whose counters begin with the measured time."""
        return (self.cell.air,)

    def traffic(self) -> None:
        cell = self.cell
        with contextlib.suppress(cell.NoAnswer):
            for endpoint in self.begin_anew():
                endpoint.reset_counters()
        cell.begin()
        self.before = cell.ask(cell.air)
        self.applications.begin()
        cell.mark("first")
        self.first = cell.marks["first"]
        self.workload_result = self.workload(cell) or {}

    def drain(self) -> None:
        cell, speed = self.cell, self.cell.scenario.speed
        # The workload has not set the marks itself.
        if cell.marks["first"] is self.first or "last" not in cell.marks:
            cell.mark("last")
        self.waiting = self.applications.report()
        self.progress("draining the link, checking the sums")
        drain(cell, speed, DRAIN_LIMIT_S)
        self.now, self.kernel = cell.at_rest(speed)
        self.watch.end()

    def facts(self) -> facts.Facts:
        cell, now, kernel = self.cell, self.now, self.kernel
        self.cpu: dict[str, float] = cell.marks["cores"] | self.workload_result.pop("cpu", {})
        stalled = self.workload_result.pop("standstills", None)
        share = slot_path.realtime_share(self.cpu, cell.supervisor.placement)
        self.paths = conservation.paths_of(now.base, now.terminal)
        found = facts.of_cell(
            self.before,
            now,
            conservation.sums_of_paths(self.paths, kernel, came_to_rest=kernel is not None),
            heard=heard(self.watch, cell.supervisor.lost),
            waiting=facts.Waiting(self.waiting["worst"]),
            failed=self.failed + self.workload_result.pop("failed", []),
            noted=cell.supervisor.noted,
            core=facts.Core(stalled, share) if stalled or share else None,
            **cell.more_facts(now, kernel),
        )
        assert found.pacing
        self.realtime = found.pacing
        if stalled is not None:
            self.realtime["standstills"] = stalled
        if share is not None:
            self.realtime["share"] = share
        return found

    def rows(self) -> dict[str, Any]:
        now, tcp = self.now, self.workload_result.pop("tcp", None)
        link = link_counts.link_interval(self.cell.marks["first"], self.cell.marks["last"])
        packets = {name: path.report() for name, path in self.paths.items()}
        feedback = now.terminal.uplink_feedback
        packets["uplink"]["feedback"] = {"packets": feedback.packets, "bytes": feedback.bytes}
        changes = live_changes.changes_of(base=now.base, terminal=now.terminal, air=now.air)
        capacity = capacities.capacity_of(
            self.cell.scenario,
            link,
            (tcp or {}).get("mss", capacities.USUAL_MSS),
            now.base,
        )
        return {
            "realtime": self.realtime,
            "tcp": tcp,
            "capacity": capacities.mark_capacity(capacity, changes),
            "link": link,
            "changes": changes,
            "packets": packets,
            "own_code": own_code.rows(now.base, now.terminal),
            "telemetry": {
                "received": sum(self.watch.received.values()),
                "lost": sum(self.watch.lost.values()),
            },
            "cpu": self.cpu | {"total": round(sum(self.cpu.values()), 4)},
            "applications": self.waiting,
        }
