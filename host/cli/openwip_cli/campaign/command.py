# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip experiment NAME... : plan, estimate, run, evaluate."""
import functools
import os
import pathlib
import signal
import sys
import time

from ..cell import cell as cells, session
from ..machine import system
from ..runs import emulate as emulator
from ..errors import INTERRUPTED, INVALID, VALID, BadInput
from ..settings.scenario import OneLineParser
from . import plan, runner, statements, workloads

CELLS_PER_CORE = 3     # at 10 bins and 4 Mbit/s a cell needs about a fifth of a core, start and end included


def parser():
    p = OneLineParser(prog="./openwip experiment", allow_abbrev=False,
                      description="The experiments of the literature on the emulator: results as CSV, figures as PNG, and what "
                                  "the text says against what was measured.")
    p.add_argument("names", nargs="*", metavar="NAME", help="A1 ... C2, all (--list shows them), or a file of one's own")
    p.add_argument("--quick", action="store_true", help="fewer points, few realisations, short flows: all within 45 minutes on two cores")
    p.add_argument("--jobs", metavar="N", help=f"cells at the same time (default {CELLS_PER_CORE} per core)")
    p.add_argument("--out", metavar="DIR", help="folder of the results (default experiments/quick or experiments/full of the build folder)")
    p.add_argument("--resume", action="store_true", help="go on with what is in the folder: finished runs are not repeated")
    p.add_argument("--only-evaluate", action="store_true", help="run nothing: figures and tables of the runs that are there")
    p.add_argument("--list", action="store_true", help="what there is, with the number of runs and the time they take")
    return p


def read_jobs(text):
    if text is None:
        return CELLS_PER_CORE * (os.cpu_count() or 1)
    if not text.isdigit() or not 1 <= int(text) <= 99:
        raise BadInput(f"--jobs is {text!r}; valid: 1..99")
    return int(text)


def minutes(seconds):
    return f"{seconds / 3600:.1f} h" if seconds > 7200 else f"{seconds / 60:.0f} min"


def listing(top, jobs):
    lines = [f"{'':4}{'':58}{'quick':>18}{'full':>18}   ({jobs} cells at a time)"]
    for name in plan.known(top):
        row = f"{name:4}"
        for mode in plan.MODES:
            e = plan.load(top, [name], mode)[0]
            runs = e.runs()
            row += f"{e.title[:57]:58}" if mode == "quick" else ""
            row += f"{len(runs):>8} runs {minutes(plan.estimate_s(runs, jobs)):>5}"
        lines.append(row)
    for mode in plan.MODES:
        runs = plan.unique_runs(plan.load(top, ["all"], mode))
        lines.append(f"all, {mode}: {len(runs)} runs (experiments share some), about {minutes(plan.estimate_s(runs, jobs))}")
    return "\n".join(lines)


def check_plan(store, experiments, resume):
    """The folder's plan, with these experiments in it; refuses to mix results of different files."""
    old = store.plan or {"experiments": {}}
    if store.anything() and not resume:
        raise BadInput(f"--out {store.out}: results are there already; --resume goes on with them, another --out starts anew")
    for e in experiments:
        before = old["experiments"].get(e.name)
        if before and before["mode"] != e.mode:
            raise BadInput(f"--resume: {e.name} in {store.out} is {before['mode']}, not {e.mode}; use another --out")
        if before and before["fingerprint"] != e.fingerprint:
            raise BadInput(f"--resume: {e.path} or its defaults changed since {store.out} was begun; use another --out")
        old["experiments"][e.name] = {"mode": e.mode, "fingerprint": e.fingerprint}
    return old


def evaluate(experiments, store, about):
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


def cleanup(name):
    """What an ended run may have left: nothing, unless it was killed."""
    cell = cells.Cell(name)
    if cell.run.exists() and cell.acquire():
        cell.remove()
        cell.release()


def load(top, names, mode):
    experiments = plan.load(top, names, mode)
    for e in experiments:
        statements.check_statements(e.path, e.tree["statements"])
    return experiments


def default_out(build, mode):
    return pathlib.Path(build) / "experiments" / mode


def parse(arguments, top, build):
    """Everything that can be refused before anything is built."""
    given = parser().parse_args(arguments)
    given.jobs = read_jobs(given.jobs)
    if given.list:
        if given.names:
            raise BadInput("--list takes no names")
        return given
    if not given.names:
        raise BadInput(f"name an experiment: {', '.join(plan.known(top))}, or all")
    given.mode = "quick" if given.quick else "full"
    given.experiments = load(top, given.names, given.mode)
    given.store = runner.Store(pathlib.Path(given.out) if given.out else default_out(build, given.mode))
    given.store.prepare()
    given.plan = check_plan(given.store, given.experiments, given.resume or given.only_evaluate)
    return given


def main(arguments, top, build, emulate=None):
    """`emulate`: what runs one cell; in tests something else."""
    given = parse(arguments, top, build)
    if given.list:
        print(listing(top, given.jobs))
        return VALID
    began = time.monotonic()

    def say(text):
        seconds = int(time.monotonic() - began)
        print(f"[{seconds // 60:3}:{seconds % 60:02}] {text}", file=sys.stderr, flush=True)

    store, experiments = given.store, given.experiments
    interrupted = None
    repeated = 0
    if not given.only_evaluate:
        if emulate is None:
            system.require_root()
            system.require_tun()
            places = (pathlib.Path(top), pathlib.Path(build), os.environ.get("OPENWIP_PYTHON", sys.executable))
            session.check_built(places[1], (emulator.PROGRAM, "python/openwip_schema"))
            session.versions(places[0], places[2])      # once, not in every run: the children inherit it
            emulate = functools.partial(emulator.run, places=places)
        store.write_plan(given.plan)
        runs = plan.unique_runs(experiments)
        left = [r for r in runs if not (store.get(r.key) or {}).get("valid")]
        say(f"{' '.join(e.name for e in experiments)}: {len(runs)} runs, {len(runs) - len(left)} of them finished before; {len(left)} to do, "
            f"{given.jobs} at a time, about {minutes(plan.estimate_s(left, given.jobs))}")
        work = runner.Runner(store, given.jobs, emulate, lambda spec: workloads.make(spec["workload"]), say, cleanup)
        try:
            work.run_all(left)
        except runner.Stopped as e:
            interrupted = e.signum
            say(f"stopped by {signal.Signals(e.signum).name}: the cells are removed, {work.completed} runs were finished; "
                "--resume goes on")
        repeated = work.repeated
    if interrupted is not None:
        return INTERRUPTED if interrupted == signal.SIGINT else 128 + interrupted
    about = {"mode": given.mode, "cells at a time": given.jobs, "attempts that were repeated": repeated,
             "minutes": round((time.monotonic() - began) / 60, 1)}
    judged = evaluate(experiments, store, about)
    complete = all(c["valid"] == c["runs"] for _, _, c, _ in judged)
    return VALID if complete else INVALID
