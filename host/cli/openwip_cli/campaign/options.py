# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of ./openwip experiment and campaign, and everything that can be refused before
anything is built."""

import argparse
import math
import pathlib
from typing import Any

from ..errors import BadInput, not_valid
from ..machine import placement
from ..machine.places import KERNEL, Places, virtual_kernel
from ..runs import ns3_tcp, pool
from ..runs.options import CLOCKS
from ..settings.command_line import Named, Parser
from ..settings.kinds import Integer
from . import experiments, metrics, statements, tcp_settings
from .plan import Experiment
from .settings import ATTEMPTS, Over, read_over
from .store import Store

# runs; at 10 bins and 4 Mbit/s a cell needs about a fifth of a core, start and end included
PER_CORE = dict(zip(CLOCKS, (3, 1, 1)))
RESULTS = "openwip-results"  # folder in the current one
PROFILES = ("slurm", "kubernetes")  # folders of host/campaign


def parser(command: str) -> Parser:
    p = Parser(
        command,
        "Many runs on the emulator (the experiments of the literature, or a file of one's own):"
        " results as CSV, figures as PNG, and what the texts of the literature say against what was"
        " measured. Runs whose results are in the folder --out already are not repeated.",
    )
    p.add_argument(
        "names",
        names=Named("file", only=(".yaml",)),
        nargs="*",
        metavar="NAME",
        help="name of an experiment (--list shows them; A1 ... C2 are those of Alfredsson (2012));"
        " chapter6: these eleven; all: every one that --list shows; or the YAML file of an"
        " experiment of your own",
    )
    p.add_argument(
        "--quick",
        action="store_true",
        help=(
            "make a quick version of the experiment: fewer points, fewer realisations, shorter TCP"
            " flows"
        ),
    )
    p.add_argument(
        "--time",
        choices=CLOCKS,
        default="real",
        help=(
            "how time passes and whose TCP runs: real (the clock and the kernel of this"
            " machine), virtual (a Linux kernel of its own) or ns3 (the TCP of ns-3);"
            " virtual and ns3 run as fast as the machine can and need no root"
            " (docs/explanation/virtual-time.md, docs/explanation/ns3.md; default real)"
        ),
    )
    p.add_argument(
        "--tcp",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=(
            "setting of TCP in all runs, which replaces that of the experiment, such as"
            " congestion_control=bbr (docs/how-to/experiments.md) or, in ns-3, sender=tahoe"
            " (docs/explanation/ns3.md); repeatable"
        ),
    )
    p.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=(
            "setting of the emulator (docs/reference/settings.md) in all runs, which replaces"
            " that of the experiment, such as umts.status_prohibit_ms=20; repeatable"
        ),
    )
    p.value(
        "--realisations",
        Integer(1, 1000),
        metavar="N",
        help=(
            "number of realisations (runs with different random channels) of each point, with the"
            " seeds 1 to N (default: the experiment's)"
        ),
    )
    p.value(
        "--machine-cores",
        Integer(1, 999),
        was="--cores",
        metavar="N",
        default=len(placement.usable()),
        help=(
            "number of cores of this machine to use (default all); each of them makes"
            f" {PER_CORE['real']} runs at the same time in real time, and"
            f" {PER_CORE['virtual']} with --time virtual or ns3"
        ),
    )
    p.add_argument(
        "--profile",
        metavar="PROFILE",
        help=(
            f"make the runs on other machines, which needs --time virtual: {', '.join(PROFILES)},"
            " or a folder with Snakemake's config.yaml"
        ),
    )
    p.add_argument(
        "-o",
        "--out",
        metavar="DIR",
        help=(
            f"folder of the results (default {RESULTS}/quick or {RESULTS}/full of the current"
            " folder; with --time virtual or ns3 that word is appended, as in full-virtual)"
        ),
    )
    p.add_argument(
        "--retry-failed",
        action="store_true",
        help=(
            "repeat all failed runs, whatever the cause (otherwise only those that were killed,"
            " ran out of memory or disk, or were lost with their worker)"
        ),
    )
    p.value(
        "--run-limit",
        Integer(1, 100000),
        metavar="MIN",
        help=(
            "time in minutes after which a run is ended and counts as failed (default"
            f" {pool.LIMIT_MIN},"
            f" plus {ATTEMPTS} times the duration of its traffic)"
        ),
    )
    p.add_argument(
        "--only-evaluate",
        action="store_true",
        help="make no runs; only draw figures and tables from the results that exist",
    )
    p.add_argument(
        "--beside",
        metavar="FOLDER",
        nargs="+",
        help=(
            "make no runs; print which statements of the literature hold in several folders of"
            " results (FOLDER or TITLE=FOLDER) as a table of Markdown, a column for each folder"
        ),
    )
    p.add_argument(
        "--list", action="store_true", help="list all experiments with the number of runs of each"
    )
    p.add_argument(
        "--describe",
        action="store_true",
        help=(
            "print the settings that the file of an experiment and --tcp can have"
            " (docs/reference/experiment-settings.md)"
        ),
    )
    return p


def check_plan(
    store: Store, experiments: list[Experiment], kernel: str | None = None
) -> dict[str, Any]:
    """The plan of the folder, with these experiments added. Raises BadInput if it would mix results
    of different files, or, in virtual time, of different kernels. `kernel`: version of the kernel;
    None: any."""
    old = store.plan or {"experiments": {}}
    for e in experiments:
        is_now = (
            {
                "mode": e.mode,
                "time": tcp_settings.label(e.time, e.tcp | e.over.named),
                "fingerprint": e.fingerprint,
            }
            | ({"kernel": kernel} if kernel else {})
            | ({"inputs": e.inputs} if e.inputs else {})
        )
        before = {"time": "real"} | old["experiments"].get(e.name, is_now)
        for what in ("mode", "time"):
            if before[what] != is_now[what]:
                raise BadInput(
                    f"--out: the results of {e.name} in {store.out} were made with {what}"
                    f" {before[what]}, and {what} is {is_now[what]} now; use another --out"
                )
        if (
            "inputs" in is_now
            and "inputs" not in before
            and before["fingerprint"] == e.old_fingerprint
        ):
            raise BadInput(
                f"--out: {e.name} in {store.out} was begun by an earlier release, which did not"
                f" note the contents of the files that the runs read ({', '.join(e.inputs)}), so"
                " it is not known whether they have changed; use another --out"
            )
        if changed := [
            name
            for name, content in before.get("inputs", {}).items()
            if e.inputs.get(name, content) != content
        ]:
            raise BadInput(
                f"--out: the file {', '.join(changed)}, which runs of {e.name} read, has changed"
                f" since the results in {store.out} were begun; use another --out"
            )
        if before["fingerprint"] != e.fingerprint:
            raise BadInput(
                f"--out: the experiment file {e.path} or its file of defaults has changed since"
                f" the results in {store.out} were begun; use another"
                " --out"
            )
        if kernel and before.get("kernel", kernel) != kernel:
            raise BadInput(
                f"--out: {e.name} in {store.out} was begun with Linux {before['kernel']}, and that"
                f" of this build is {kernel}; use another --out"
            )
        old["experiments"][e.name] = is_now
    return old


def load(
    top: pathlib.Path,
    names: list[str],
    mode: str,
    time: str = "real",
    tcp: dict[str, Any] | None = None,
    skipped: dict[str, str] | None = None,
    given: Over = Over(),
) -> list[Experiment]:
    loaded = experiments.load(top, names, mode, time, tcp, skipped, given)
    for e in loaded:
        statements.check_statements(e, e.tree["statements"])
        for whose, part in (
            *((f"figure {f['name']}", f) for f in e.tree["figures"]),
            *((f"statement {s['id']}", s) for s in e.tree["statements"]),
        ):
            for metric in metrics.of_part(part):
                metrics.split(metric, f"experiment file {e.path}: {whose}: ")
        metrics.split(metrics.watched(e), f"experiment file {e.path}: until: ")
    return loaded


def profile_of(given: argparse.Namespace, places: Places) -> pathlib.Path | None:
    if given.profile is None:
        return None
    folder = (
        places.top / "host" / "campaign" / given.profile
        if given.profile in PROFILES
        else pathlib.Path(given.profile)
    )
    if not (folder / "config.yaml").is_file():
        raise not_valid(
            "--profile", repr(given.profile), f"{', '.join(PROFILES)}, or a folder with config.yaml"
        )
    if given.time != "virtual":
        why = (
            "such a run needs root and a quiet core of this machine"
            if given.time == "real"
            else "ns-3 may not be handed on with this program"
        )
        raise not_valid(
            "--profile", given.profile, "--time virtual", more=f" with --time {given.time}: {why}"
        )
    return folder.absolute()


def default_out(name: str, places: Places) -> pathlib.Path:
    """Results outlive the build folder, which may be removed at any time; they once were in it."""
    out, before = pathlib.Path(RESULTS, name), places.build / "experiments" / name
    here = pathlib.Path.cwd()
    if here == places.build or places.build in here.parents:
        raise BadInput(
            f"--out is missing, and the current folder is in the build folder {places.build}, which"
            " may be removed; valid: --out DIR, or another current folder"
        )
    if before.is_dir() and not out.exists():
        raise BadInput(
            f"--out is missing, and an earlier release left results in {before}, which is removed"
            f" with the build folder; valid: --out DIR, or after mkdir -p {RESULTS} && mv {before}"
            f" {out}"
        )
    return out


def parse(arguments: list[str], places: Places, command: str = "experiment") -> argparse.Namespace:
    """Everything that can be refused before anything is built."""
    p = parser(command)
    given = p.parse_args(arguments)
    for flag, alone in (
        ("--list", given.list),
        ("--describe", given.describe),
        ("--beside", given.beside),
    ):
        if alone:
            if beside := [option for option in p.named_options(given) if option != flag]:
                raise BadInput(
                    f"{beside[0] if beside[0][0] == '-' else 'a NAME'} has no effect with {flag};"
                    f" valid: {flag} alone"
                )
            return given
    if not given.names:
        raise BadInput(
            "no experiment is named; valid:"
            f" {', '.join(experiments.known(places.top, experiments.PLACES))},"
            f" or {', '.join(experiments.SETS)}"
        )
    given.mode = "quick" if given.quick else "full"
    given.slots = given.cores * PER_CORE[given.time]
    given.profile = profile_of(given, places)
    given.tcp = (ns3_tcp if given.time == "ns3" else tcp_settings).read(given.tcp)
    given.skipped = dict[str, str]()
    given.over = read_over(given.set, given.realisations)
    given.experiments = load(
        places.top, given.names, given.mode, given.time, given.tcp, given.skipped, given.over
    )
    longest = max((e.duration_s for e in given.experiments), default=0)
    given.run_limit = given.run_limit or pool.LIMIT_MIN + math.ceil(ATTEMPTS * longest / 60)
    given.store = Store(
        pathlib.Path(given.out)
        if given.out
        else default_out(given.mode + f"-{given.time}" * (given.time != "real"), places)
    )
    given.store.prepare()
    has_kernel = given.time == "virtual" and (places.build / KERNEL).exists()
    given.kernel = (
        " ".join(virtual_kernel(places).values())
        if has_kernel and not given.only_evaluate
        else None
    )
    given.plan = check_plan(given.store, given.experiments, given.kernel)
    return given


def parse_campaign(arguments: list[str], places: Places) -> argparse.Namespace:
    return parse(arguments, places, "campaign")
