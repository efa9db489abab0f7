# SPDX-License-Identifier: GPL-3.0-or-later
"""The surroundings of a run's phases in a cell: logs, record, capture, window, supervisor; its
report on the screen and in a file; and the cell as a workload sees it."""

import os
from collections.abc import Callable
from typing import Any

from ..capture import capture
from ..cell import outside, window
from ..cell.cell import ADDRESS, Cell
from ..cell.running import Running
from ..cell.session import CpuClock, check_congestion_control, place
from ..cell.supervisor import SupervisorClient, not_ended
from ..errors import DIED, INVALID, VALID, CellDied, NotWritten
from ..machine import outputs, rights, system
from ..machine.places import Places
from ..measure import traffic
from ..records import record
from ..settings.scenario import Scenario
from ..shapes import Interface
from .options import Options

DRAIN_LIMIT_S = 30


class MeasuredCell(Running):
    """A cell as a workload uses it: `supervisor` (pause, wait_until), statuses, and the namespaces
    for the applications."""

    def __init__(self, cell: Cell, supervisor: SupervisorClient, scenario: Scenario) -> None:
        super().__init__(cell, supervisor)
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
                dict(self.supervisor.pids)
                | {"keeper": self.supervisor.pid, "launcher": os.getpid()}
            )
        self.marks[name] = self.ask(self.base)
        if name == "last":
            self.marks["cores"] = self.marks["cpu"].cores()


def iperf3_download(cell: MeasuredCell) -> dict[str, Any]:
    """TCP from the base station's side to the terminal: a workload."""
    wall = max(1, round(cell.scenario["traffic.duration_s"] / cell.scenario.speed))
    edge = min(1.0, 0.1 * wall)
    report, cpu, wall = traffic.tcp(
        cell.supervisor,
        cell.cell,
        cell.scenario,
        [(edge, lambda: cell.mark("first")), (wall - 0.1 * edge, lambda: cell.mark("last"))],
    )
    return {"tcp": report, "cpu": {n: round(s / wall, 4) for n, s in cpu.items()}}


# --- around the phases ---


def check(options: Options, places: Places, programs: tuple[str, ...]) -> None:
    """Checks rights, programs and options before anything is made."""
    rights.require_for_a_cell()
    system.require_tun()
    places.check_built(*programs, "python/openwip_schema")
    if not options.replay_iq:
        check_congestion_control(options.scenario["traffic.tcp_cc"])
    record.check_target(options.record)
    outside.check(options.outside)
    if options.capture is not None:
        options.capture = outputs.checked("--capture", options.capture)
    if options.logs is not None:
        outputs.check_folder("--logs", options.logs)


def in_cell(
    cell: Cell,
    supervisor: SupervisorClient,
    options: Options,
    places: Places,
    progress: Callable[[str], None],
    phases: Callable[[], dict[str, Any]],
    run: tuple[dict[str, Any], int] | None = None,
    over: Callable[..., Any] = lambda result: result,
    apart: bool = False,
) -> dict[str, Any]:
    """Runs the phases in a cell. `phases()` returns the report with its verdict, `over(result)`
    what is added to it once the cell has ended. `run`: (scenario, seed) for the record, if not
    those of the options. `apart`: see placement.choose()."""
    scenario, seed = run or (options.scenario.tree(), options.scenario["seed"])
    if options.logs:
        supervisor.keep_logs(options.logs, options.inputs)
    if options.cores is not None:
        place(supervisor, options.cores, places, progress, apart)
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
            supervisor.detach()
            progress(
                "the cell stays up: "
                + ", ".join(
                    f"./openwip {c.format(cell.named)}"
                    for c in ("exec{} terminal -- COMMAND", "status{}", "down{}")
                )
            )
        else:
            progress("ending the cell")
            supervisor.end("the run is over")
        not_written.append(supervisor.not_written)
        if supervisor.not_ended:
            result["not_ended"] = not_ended(cell, supervisor.not_ended)
        result = over(result)
        if recorder is not None:
            result["record"] = recorder.finish(result)
            record.report_result(result["record"], progress)
    return result | (
        {"not_written": "; ".join(filter(None, not_written))} if any(not_written) else {}
    )


def report(result: dict[str, Any], options: Options, screen: str, good: bool | None = None) -> int:
    """Writes the report to the screen, and as JSON if --json asks for it. Returns the exit code."""
    outputs.say(options.json, screen)
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
