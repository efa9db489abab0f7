# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip experiment NAME... and campaign FILE: plan, run, evaluate."""

import argparse
import contextlib
import hashlib
import pathlib
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from ..errors import INVALID, VALID, BadInput, Terminated
from ..figures import estimates
from ..machine import rights, system
from ..machine.places import Places, built
from ..runs import elsewhere, emulate, ns3, pool, split_tcp, virtual
from ..runs.options import CLOCKS
from . import (
    experiment_file,
    experiments,
    metrics,
    plan,
    report,
    settings,
    statements,
    tcp_settings,
)
from .options import parse
from .plan import Experiment
from .runner import Progress
from .store import Store

# The least number of runs of a round. A round ends with its last run, and slots that are free
# before that stay idle, so it is long.
WIDTH = 40  # runs of a round, for each slot of this machine
ELSEWHERE = 1000  # runs of a round in all, with --profile
LEARNING = 4  # runs of a round for each slot, where points may stop after a round
# The programs of the build that decide a run: results of two builds are not mixed (the kernel of
# virtual time: options.check_plan).
PROGRAMS = dict(zip(CLOCKS, ((emulate.PROGRAM,), (emulate.PROGRAM, virtual.GUEST), (ns3.PROGRAM,))))
SPLIT = (split_tcp.PROGRAM, split_tcp.GUEST)


def listing(top: pathlib.Path) -> str:
    lines = [f"{'':71}{'quick':>12}{'full':>12}"]
    for name in experiments.known(top, experiments.PLACES):
        quick, full = (
            experiments.load(top, [name], mode, experiments.time_of(top, name))[0]
            for mode in experiment_file.MODES
        )
        lines.append(
            f"{name:15}{quick.title[:56]:56}{plan.count([quick]):>7} runs{plan.count([full]):>7}"
            " runs"
        )
    for name in experiments.SETS:
        shared = [plan.count(experiments.load(top, [name], mode)) for mode in experiment_file.MODES]
        lines.append(
            f"{name + ' (experiments share some)':71}{shared[0]:>7} runs{shared[1]:>7} runs"
        )
    return "\n".join(lines)


def evaluate(
    experiments: list[Experiment], store: Store, about: dict[str, Any]
) -> list[report.Evaluated]:
    from . import figures  # late: --list needs no matplotlib

    evaluated: list[report.Evaluated] = []
    together = report.shared_confidence(sum(len(e.tree["statements"]) for e in experiments))
    for e in experiments:
        results = metrics.Results(e, store.read)
        if kept := report.kept(results, store.out):
            drawn = report.drawn_before(e, store.out)
        else:
            drawn = figures.draw(results, store.out)
            report.write_csv(results, store.out)
        evaluations = statements.evaluate_all(results)
        with estimates.confidence(together):
            corrected = [j.holds for j in statements.evaluate_all(results)]
        evaluated.append(
            report.Evaluated(
                e,
                evaluations,
                report.counts(results),
                drawn,
                list(results.lacking.values()),
                corrected,
                kept,
            )
        )
    is_new = report.write_comparison(evaluated, about, store.out)
    print(report.screen(evaluated))
    print(
        f"figures, tables and comparison.md are in {store.out}"
        + "; comparison.md and comparison.json stay as they were, too" * (not is_new)
    )
    return evaluated


def check_machine(time: str, places: Places, elsewhere_too: bool = False) -> None:
    if time == "virtual":
        virtual.check(places)
    elif time == "ns3":
        ns3.check(places)
    else:
        rights.require_for_a_cell()
        system.require_tun()
        places.check_built(emulate.PROGRAM, "python/openwip_schema")
    if elsewhere_too:
        elsewhere.check(places)


def digests(e: Experiment, build: pathlib.Path) -> dict[str, str]:
    names = PROGRAMS[e.time] + SPLIT * any(
        name.startswith("split_tcp.") for name in e.settings.keys() | e.varied
    )
    built_programs = {pathlib.Path(name).name: built(build, name) for name in names}
    return {
        name: hashlib.sha256(program.read_bytes()).hexdigest()[:16]
        for name, program in built_programs.items()
        if program.exists()
    }


def check_programs(
    store: Store, experiments: list[Experiment], build: pathlib.Path
) -> dict[str, dict[str, str]]:
    """The digests of the programs of each experiment. Refuses a folder that was begun with others;
    programs that an earlier plan did not record are accepted."""
    before = (store.plan or {"experiments": {}})["experiments"]
    reported = {}
    for e in experiments:
        was, now = before.get(e.name, {}).get("programs", {}), digests(e, build)
        for name in was:
            if now.get(name, was[name]) != was[name]:
                raise BadInput(
                    f"--out: {e.name} in {store.out} was begun with {name} {was[name]}, and that of"
                    f" this build is {now[name]}; use another --out"
                )
        reported[e.name] = was | now
    return reported


def run(
    given: argparse.Namespace,
    places: Places,
    say: Callable[[str], None],
    command: list[str] | None = None,
) -> int:
    """Makes all runs that have no valid result yet, round by round, and returns their number.
    `command`: the program that makes a result from a specification; tests replace it."""
    runs = plan.unique_runs(given.experiments)
    out, slots, limit = given.store.out, given.slots, given.run_limit
    many = (
        elsewhere.Elsewhere(places, out, slots, given.profile, command, limit)
        if given.profile
        else pool.Pool(places, out, slots, command, limit)
    )
    with many.owned():
        given.store.write_plan(given.plan)
        if arrived := given.store.arrivals():
            taken = given.store.take_in(arrived)
            say(f"{taken} results of earlier runs are added to {given.store.archive.path}")
        progress = Progress(given.store, given.experiments, runs, say, given.retry_failed)
        for name, reason in given.skipped.items():
            say(f"{name} is left out: {reason}")
        for e in given.experiments:
            for why, points in e.skipped.items():
                say(f"{e.name}: {points} of {points + len(e.points)} points are left out: {why}")
        learning = any(e.until for e in given.experiments)
        where = f"profile {given.profile.name}" if given.profile else f"{given.slots} at a time"
        say(
            f"{' '.join(e.name for e in given.experiments)}: {len(runs)} runs, {progress.finished}"
            f" of them finished before; {'at most ' * learning}{len(progress.left)} to do, {where}"
        )
        width = ELSEWHERE if given.profile else given.slots * (LEARNING if learning else WIDTH)
        try:
            while chosen := progress.next(width):
                many.run({r.key: r.spec for r in chosen}, progress.take)
                progress.settle([r.key for r in chosen])
        except Terminated as e:
            say(
                f"stopped by {signal.Signals(e.signum).name}: everything is removed,"
                f" {progress.done} runs were finished; the same command goes on"
            )
            raise
    return progress.done


def campaign(arguments: list[str], places: Places) -> int:
    return main(arguments, places, name="campaign")


def main(
    arguments: list[str], places: Places, command: list[str] | None = None, name: str = "experiment"
) -> int:
    given = parse(arguments, places, name)
    if given.describe:
        print(settings.markdown(), end="")
        return VALID
    if given.list:
        print(listing(places.top))
        return VALID
    if given.beside:
        print(report.side_by_side([report.read_comparison(folder) for folder in given.beside]))
        return VALID
    began = time.monotonic()

    def say(text: str) -> None:
        seconds = int(time.monotonic() - began)
        print(f"[{seconds // 60:3}:{seconds % 60:02}] {text}", file=sys.stderr, flush=True)

    ran = 0
    if not given.only_evaluate:
        if command is None:
            check_machine(given.time, places, given.profile is not None)
        for name, digests in check_programs(given.store, given.experiments, places.build).items():
            given.plan["experiments"][name]["programs"] = digests
        try:
            ran = run(given, places, say, command)
        except Terminated as e:
            return e.code
    before: dict[str, Any] = {}
    # how long the runs took, for a command that makes none
    with contextlib.suppress(report.NoComparison):
        before = {
            k: v
            for k, v in report.read_comparison(str(given.store.out))[1]["about"].items()
            if k == "minutes"
        }
    about = {
        "mode": given.mode,
        "time": tcp_settings.label(given.time, given.tcp | given.over.named),
        "runs at a time": str(given.profile or given.slots),
        **({"Linux of virtual time": given.kernel} if given.kernel else {}),
        **({"minutes": round((time.monotonic() - began) / 60, 1)} if ran else before),
    }
    evaluated = evaluate(given.experiments, given.store, about)
    complete = all(each.counts["valid"] == each.counts["runs"] for each in evaluated)
    return VALID if complete else INVALID
