# SPDX-License-Identifier: GPL-3.0-or-later
"""The experiments that there are: those of flowgraphs/scenarios by their names, sets of them, and files
of a user's own."""

import pathlib
import re
from collections.abc import Sequence
from typing import Any

from ..errors import BadInput
from .experiment_file import fits
from .file_parts import read_tree
from .layers import NothingToRun
from .plan import Experiment
from .settings import Over

SETS = {"all": ".*", "chapter6": "[ABC][0-9]+"}  # names of several experiments, which those are
# In folder(): those of `all`, those of 802.11 (D-*), of handovers (H-*), of WCDMA cells (W-*), of
# queue disciplines (Q-*).
PLACES = ("", "../wlan", "../handover", "../wcdma", "../queues")


def folder(top: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(top) / "flowgraphs" / "scenarios" / "experiments"


def known(top: pathlib.Path, places: Sequence[str] = PLACES[:1]) -> list[str]:
    return [
        name
        for place in places
        for name in sorted(p.stem for p in (folder(top) / place).glob("*.yaml"))
        if not name.startswith("defaults")
    ]


def time_of(top: pathlib.Path, name: str) -> str:
    """The value of `time` that an experiment file asks for. Without one it is "real" for the files
    of folder(), and "virtual" for all others."""
    path = path_of(top, name) or top
    return str(read_tree(path).get("time", "real" if path.parent == folder(top) else "virtual"))


def path_of(top: pathlib.Path, name: str) -> pathlib.Path | None:
    """The path of an experiment by its name, or of a user's own file; None: there is no such
    experiment."""
    if name.endswith(".yaml"):
        return pathlib.Path(name)
    return next(
        (
            p
            for place in PLACES
            if name != "defaults" and (p := folder(top) / place / f"{name}.yaml").exists()
        ),
        None,
    )


def load(
    top: pathlib.Path,
    names: Sequence[str],
    mode: str,
    time: str = "real",
    tcp: dict[str, Any] | None = None,
    skipped: dict[str, str] | None = None,
    over: Over = Over(),
) -> list[Experiment]:
    """Experiments by name, or by the path of a file (NAME.yaml) of one's own; a name of SETS: those
    of it that run in this time, and `skipped` why others do not."""
    there = known(top, PLACES)
    a_set = SETS.get(names[0]) if len(names) == 1 else None
    if a_set:
        names = [
            n
            for n in known(top)
            if re.fullmatch(a_set, n) and fits(read_tree(folder(top) / f"{n}.yaml"), time)
        ]
    experiments: dict[str, Experiment] = {}
    for name in dict.fromkeys(names):
        path = path_of(top, name)
        if path is None:
            raise BadInput(
                f"unknown experiment {name}; valid: {', '.join(there)}, or a file NAME.yaml; or"
                f" one of {', '.join(SETS)}, with no other name beside it"
            )
        try:
            e = Experiment(path, mode, time, tcp, over, top)
        except NothingToRun as why:
            if not a_set:
                raise
            if skipped is not None:
                skipped[name] = str(why)
            continue
        if e.name in experiments:
            raise BadInput(
                f"experiment {e.name} is named twice: {experiments[e.name].path} and {e.path}"
            )
        experiments[e.name] = e
    return list(experiments.values())
