# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ./openwip experiment, and everything that can be refused before anything is built."""
import os
import pathlib
from typing import Any

from ..errors import BadInput
from ..machine.places import Places
from ..settings.command_line import Parser
from ..settings.kinds import Integer
from . import plan, runner, statements
from .plan import Experiment
from .runner import Store

CELLS_PER_CORE = 3     # at 10 bins and 4 Mbit/s a cell needs about a fifth of a core, start and end included


def parser() -> Parser:
    p = Parser("experiment", "The experiments of the literature on the emulator: results as CSV, figures as PNG, and what "
                             "the text says against what was measured.")
    p.add_argument("names", nargs="*", metavar="NAME", help="A1 ... C2, all (--list shows them), or a file of one's own")
    p.add_argument("--quick", action="store_true", help="fewer points, few realisations, short flows: all within 45 minutes on two cores")
    p.add_argument("--time", choices=("real", "virtual"), default="real",
                   help="virtual: with a Linux kernel of its own, as fast as the machine can; needs no root (docs/virtual-time.md; default real)")
    p.value("--jobs", Integer(1, 99), metavar="N", default=None, help=f"cells at the same time (default {CELLS_PER_CORE} per core; one in virtual time)")
    p.add_argument("--out", metavar="DIR", help="folder of the results (default experiments/quick or experiments/full of the build folder)")
    p.add_argument("--resume", action="store_true", help="go on with what is in the folder: finished runs are not repeated")
    p.add_argument("--only-evaluate", action="store_true", help="run nothing: figures and tables of the runs that are there")
    p.add_argument("--list", action="store_true", help="what there is, with the number of runs and the time they take")
    return p


def check_plan(store: Store, experiments: list[Experiment], resume: bool) -> dict[str, Any]:
    """The folder's plan, with these experiments in it; refuses to mix results of different files."""
    old = store.plan or {"experiments": {}}
    if store.anything() and not resume:
        raise BadInput(f"--out {store.out}: results are there already; --resume goes on with them, another --out starts anew")
    for e in experiments:
        before = old["experiments"].get(e.name)
        if before and before["mode"] != e.mode:
            raise BadInput(f"--resume: {e.name} in {store.out} is {before['mode']}, not {e.mode}; use another --out")
        if before and before.get("time", "real") != e.time:
            raise BadInput(f"--resume: {e.name} in {store.out} is in {before.get('time', 'real')} time, not {e.time}; use another --out")
        if before and before["fingerprint"] != e.fingerprint:
            raise BadInput(f"--resume: {e.path} or its defaults changed since {store.out} was begun; use another --out")
        old["experiments"][e.name] = {"mode": e.mode, "time": e.time, "fingerprint": e.fingerprint}
    return old


def load(top: pathlib.Path, names: list[str], mode: str, time: str = "real") -> list[Experiment]:
    experiments = plan.load(top, names, mode, time)
    for e in experiments:
        statements.check_statements(e.path, e.tree["statements"])
    return experiments


def parse(arguments: list[str], places: Places) -> Any:
    """Everything that can be refused before anything is built."""
    given = parser().parse_args(arguments)
    given.jobs = given.jobs or (1 if given.time == "virtual" else CELLS_PER_CORE) * (os.cpu_count() or 1)
    if given.list:
        if given.names:
            raise BadInput("--list takes no names")
        return given
    if not given.names:
        raise BadInput(f"name an experiment: {', '.join(plan.known(places.top))}, or all")
    given.mode = "quick" if given.quick else "full"
    given.experiments = load(places.top, given.names, given.mode, given.time)
    given.store = runner.Store(pathlib.Path(given.out) if given.out else places.build / "experiments" / (given.mode + "-virtual" * (given.time == "virtual")))
    given.store.prepare()
    given.plan = check_plan(given.store, given.experiments, given.resume or given.only_evaluate)
    return given
