# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip experiment NAME... : plan, estimate, run, evaluate."""
import functools
import pathlib
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ..cell import cell as cells
from ..errors import INVALID, VALID, Terminated
from ..machine import system
from ..machine.places import Places, versions
from ..runs import emulate as emulator, virtual
from . import in_virtual_time, plan, runner, statements, workloads
from .options import parse
from .plan import Experiment
from .runner import Store


def minutes(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds > 7200 else f"{seconds / 60:.0f} min"


def listing(top: pathlib.Path, jobs: int, time: str) -> str:
    lines = [f"{'':4}{'':58}{'quick':>18}{'full':>18}   ({jobs} cells at a time)"]
    for name in plan.known(top):
        row = f"{name:4}"
        for mode in plan.MODES:
            e = plan.load(top, [name], mode, time)[0]
            runs = e.runs()
            row += f"{e.title[:57]:58}" if mode == "quick" else ""
            row += f"{len(runs):>8} runs {minutes(plan.estimate_s(runs, jobs)):>5}"
        lines.append(row)
    for mode in plan.MODES:
        runs = plan.unique_runs(plan.load(top, ["all"], mode, time))
        lines.append(f"all, {mode}: {len(runs)} runs (experiments share some), about {minutes(plan.estimate_s(runs, jobs))}")
    return "\n".join(lines)


def evaluate(experiments: list[Experiment], store: Store, about: dict[str, Any]) -> Any:
    # Late: numpy starts threads, and the runs were forked from this process.
    from . import figures, metrics, report
    judged = []
    for e in experiments:
        results = metrics.Results(e, store.get)
        drawn = figures.draw(results, store.out) if results.found else []
        report.write_csv(results, store.out)
        judged.append((e, statements.judge_all(results), report.counts(results), drawn))
    report.write_comparison(judged, about, store.out)
    print(report.screen(judged))
    print(f"figures, tables and comparison.md are in {store.out}")
    return judged


def cleanup(name: str) -> None:
    """What an ended run may have left: nothing, unless it was killed."""
    cell = cells.Cell(name)
    if cell.run.exists() and cell.acquire():
        cell.remove()
        cell.release()


def main(arguments: list[str], places: Places, emulate: Callable[..., dict[str, Any]] | None = None) -> int:
    """`emulate`: what runs one cell; in tests something else."""
    given = parse(arguments, places)
    if given.list:
        print(listing(places.top, given.jobs, given.time))
        return VALID
    began = time.monotonic()

    def say(text: str) -> None:
        seconds = int(time.monotonic() - began)
        print(f"[{seconds // 60:3}:{seconds % 60:02}] {text}", file=sys.stderr, flush=True)

    def make(spec: dict[str, Any]) -> Any:
        return workloads.make(spec["workload"])

    store, experiments = given.store, given.experiments
    repeated = 0
    if not given.only_evaluate:
        if emulate is None and given.time == "virtual":
            virtual.check(places)
            emulate, make = functools.partial(in_virtual_time.run, places=places), lambda spec: spec["workload"]
        elif emulate is None:
            system.require_root()
            system.require_tun()
            places.check_built(emulator.PROGRAM, "python/openwip_schema")
            emulate = functools.partial(emulator.run, places=places)
        versions(places)      # once, not in every run: the children inherit it
        store.write_plan(given.plan)
        runs = plan.unique_runs(experiments)
        left = [r for r in runs if not (store.get(r.key) or {}).get("valid")]
        say(f"{' '.join(e.name for e in experiments)}: {len(runs)} runs, {len(runs) - len(left)} of them finished before; {len(left)} to do, "
            f"{given.jobs} at a time, about {minutes(plan.estimate_s(left, given.jobs))}")
        work = runner.Runner(store, given.jobs, emulate, make, say, cleanup)
        try:
            work.run_all(left)
        except Terminated as e:
            say(f"stopped by {signal.Signals(e.signum).name}: the cells are removed, {work.completed} runs were finished; "
                "--resume goes on")
            return e.code
        repeated = work.repeated
    about = {"mode": given.mode, "time": given.time, "cells at a time": given.jobs, "attempts that were repeated": repeated,
             "minutes": round((time.monotonic() - began) / 60, 1)}
    judged = evaluate(experiments, store, about)
    complete = all(c["valid"] == c["runs"] for _, _, c, _ in judged)
    return VALID if complete else INVALID
