# SPDX-License-Identifier: GPL-3.0-or-later
"""One run: what happens around its phases (logs, record, capture, window, keeper), and its phases
from the first counter to the verdict. demo, emulate, replay and tcp-l say what they start and what
traffic they make; the rest is here."""

import contextlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from ..capture import capture
from ..cell import window
from ..cell.cell import ADDRESS, Cell
from ..cell.keeper import KeeperClient, not_ended
from ..cell.running import Running, drain
from ..cell.session import CpuClock, check_congestion_control, place
from ..errors import DIED, INVALID, VALID, CellDied, NotWritten
from ..figures import capacities, checks, conservation, facts, link_counts, live_changes
from ..machine import outputs, rights, slot_path, system
from ..machine.places import Places
from ..measure import traffic
from ..measure.applications import ApplicationClock, heard
from ..messages.control import Control, TelemetryWatch
from ..records import record
from ..settings.scenario import Scenario
from ..shapes import Interface
from .options import Options

DRAIN_LIMIT_S = 30


class MeasuredCell(Running):
    """As a workload sees it: `keeper` (pause, wait_until), statuses, and where the applications
    run."""

    def __init__(self, cell: Cell, keeper: KeeperClient, scenario: Scenario) -> None:
        super().__init__(cell, keeper)
        self.scenario = scenario
        self.address, self.name, self.namespace = ADDRESS, cell.name, cell.namespace
        self.marks: dict[str, Any] = {}

    def begin(self) -> None:
        """The measured time begins."""

    def more_facts(self, _now: Any, _kernel: dict[str, Interface] | None) -> dict[str, Any]:
        """More facts for the verdict, once all is drained, by their names in Facts. `_kernel`:
        counts of the kernel that belong to `_now`, where it came to rest."""
        return {}

    def mark(self, name: str) -> None:
        """`first` and `last`: between them the link's and the processor's figures are taken."""
        if name == "first":
            self.marks["cpu"] = CpuClock(
                dict(self.keeper.pids) | {"keeper": self.keeper.pid, "launcher": os.getpid()}
            )
        self.marks[name] = self.ask(self.base)
        if name == "last":
            self.marks["cores"] = self.marks["cpu"].cores()


def iperf3_download(cell: MeasuredCell) -> dict[str, Any]:
    """TCP from the base station's side to the terminal: a workload."""
    wall = max(1, round(cell.scenario["traffic.duration_s"] / cell.scenario.speed))
    edge = min(1.0, 0.1 * wall)
    report, cpu, wall = traffic.tcp(
        cell.keeper,
        cell.cell,
        cell.scenario,
        [(edge, lambda: cell.mark("first")), (wall - 0.1 * edge, lambda: cell.mark("last"))],
    )
    return {"tcp": report, "cpu": {n: round(s / wall, 4) for n, s in cpu.items()}}


# --- around the phases ---


def check(options: Options, places: Places, programs: tuple[str, ...]) -> None:
    """Before anything is made."""
    rights.require_for_a_cell()
    system.require_tun()
    places.check_built(*programs, "python/openwip_schema")
    if not options.replay_iq:
        check_congestion_control(options.scenario["traffic.tcp_cc"])
    record.check_target(options.record)
    if options.capture is not None:
        options.capture = outputs.checked("--capture", options.capture)
    if options.logs is not None:
        outputs.check_folder("--logs", options.logs)


def in_cell(
    cell: Cell,
    keeper: KeeperClient,
    options: Options,
    places: Places,
    progress: Callable[[str], None],
    phases: Callable[[], dict[str, Any]],
    run: tuple[dict[str, Any], int] | None = None,
    over: Callable[..., Any] = lambda result: result,
    apart: bool = False,
) -> dict[str, Any]:
    """`phases()` gives the report with its verdict; `over(result)` what is added once the cell has
    ended. `run`: (scenario, seed) as the record has them, where they are not those of the options.
    `apart`: of placement.choose()."""
    scenario, seed = run or (options.scenario.tree(), options.scenario["seed"])
    if options.logs:
        keeper.keep_logs(options.logs, options.inputs)
    if options.cores is not None:
        place(keeper, options.cores, places, progress, apart)
    record.note_run(cell, scenario, seed)
    not_written: list[str | None] = []
    if options.monitor:
        window.open_for(cell.name, places.build, progress)
    with (
        record.launched(cell, options.record, places, progress) as recorder,
        capture.recording(
            cell, options.capture, scenario, options.scenario.speed, places, progress
        ) as captured,
    ):
        result = phases()
        not_written.append(result.pop("not_written", None))
        if captured is not None:
            captured.end(result["verdict"])
            not_written.append(captured.not_written)
        if options.keep:
            keeper.detach()
            progress(
                "the cell stays up: "
                + ", ".join(
                    f"./openwip {c.format(cell.named)}"
                    for c in ("exec{} terminal -- COMMAND", "status{}", "down{}")
                )
            )
        else:
            progress("ending the cell")
            keeper.end("the run is over")
        not_written.append(keeper.not_written)
        if keeper.not_ended:
            result["not_ended"] = not_ended(cell, keeper.not_ended)
        result = over(result)
        if recorder is not None:
            result["record"] = recorder.finish(result)
            record.said(result["record"], progress)
    return result | (
        {"not_written": "; ".join(filter(None, not_written))} if any(not_written) else {}
    )


def report(result: dict[str, Any], options: Options, screen: str, good: bool | None = None) -> int:
    """On the screen and in --json FILE; the exit code."""
    print(screen)
    not_written = [result["not_written"]] if "not_written" in result else []
    try:
        outputs.write_json(options.json, result)
    except NotWritten as e:
        not_written.append(str(e))
    if "not_ended" in result:
        raise CellDied(result["not_ended"], [("openwip", words) for words in not_written])
    if not_written:
        raise NotWritten("; ".join(not_written))
    if "error" in result.get("record", {}):
        return DIED
    return VALID if (result["verdict"]["valid"] if good is None else good) else INVALID


# --- the phases ---


def measure(
    cell: MeasuredCell,
    watch: TelemetryWatch,
    applications: ApplicationClock,
    workload: Callable[..., dict[str, Any] | None],
    progress: Callable[[str], None],
    reset: Iterable[Control],
) -> tuple[dict[str, Any], dict[str, Any], facts.Statuses]:
    """Traffic, drain, sums, verdict: (the report's common part, what else the workload returned,
    the statuses at the end).
    `workload(cell)` returns {"tcp", "cpu", "failed" (reasons), ...}; TrafficFailed makes the run
    invalid. `reset`: whose counters begin anew."""
    s, keeper = cell.scenario, cell.keeper
    with contextlib.suppress(cell.NoAnswer):
        for endpoint in reset:
            endpoint.reset_counters()
    cell.begin()
    failed, rest = [], {}
    before = cell.ask(cell.air)
    applications.begin()
    cell.mark("first")
    first = cell.marks["first"]
    try:
        rest = workload(cell) or {}
    except traffic.TrafficFailed as e:
        failed.append(str(e))
    if cell.marks["first"] is first or "last" not in cell.marks:
        cell.mark("last")
    waiting = applications.report()
    progress("draining the link, checking the sums")
    drain(cell, s.speed, DRAIN_LIMIT_S)
    now, kernel = cell.at_rest(s.speed)
    watch.end()
    tcp, cpu = rest.pop("tcp", None), cell.marks["cores"] | rest.pop("cpu", {})
    stood, share = rest.pop("standstills", None), slot_path.realtime_share(cpu, keeper.placement)
    paths = conservation.paths_of(now.base, now.terminal)
    found = facts.of_cell(
        before,
        now,
        conservation.sums_of_paths(paths, kernel, came_to_rest=kernel is not None),
        heard=heard(watch, keeper.lost),
        waiting=facts.Waiting(waiting["worst"]),
        failed=failed + rest.pop("failed", []),
        noted=keeper.noted,
        core=facts.Core(stood, share) if stood or share else None,
        **cell.more_facts(now, kernel),
    )
    realtime = found.pacing
    assert realtime
    if stood is not None:
        realtime["standstills"] = stood
    if share is not None:
        realtime["share"] = share
    changes = live_changes.changes_of(base=now.base, terminal=now.terminal, air=now.air)
    link = link_counts.link_interval(cell.marks["first"], cell.marks["last"])
    packets = {name: path.report() for name, path in paths.items()}
    feedback = now.terminal.uplink_feedback
    packets["uplink"]["feedback"] = {"packets": feedback.packets, "bytes": feedback.bytes}
    capacity = capacities.capacity_of(
        s, link["modulation_histogram"], (tcp or {}).get("mss", capacities.USUAL_MSS), now.base
    )
    return (
        {
            "verdict": checks.judge(found),
            "realtime": realtime,
            "tcp": tcp,
            "capacity": capacities.mark_capacity(capacity, changes),
            "link": link,
            "changes": changes,
            "packets": packets,
            "telemetry": {
                "received": sum(watch.received.values()),
                "lost": sum(watch.lost.values()),
            },
            "cpu": cpu | {"total": round(sum(cpu.values()), 4)},
            "applications": waiting,
        },
        rest,
        now,
    )
