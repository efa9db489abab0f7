# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment file (flowgraphs/scenarios/experiments/A1.yaml) and the file of common defaults that
it names, read in one mode: quick or full. What contradicts the file in itself is refused here."""

import dataclasses
import pathlib
from typing import Any

from ..errors import BadInput, not_valid
from .file_parts import check_parts, read_settings, read_tree, read_whole
from .grid import Grid
from .settings import Over
from .stopping import Until, read_until

NEEDED = ("title", "defaults", "grid", "quick", "full", "figures", "statements")
PARTS = {*NEEDED, "text_figures", "settings", "measures", "time", "tcp", "until"}
DEFAULT_PARTS = {
    "settings",
    "channels",
    "methods",
    "senders",
    "applications",
    "bulk",
    "tcp",
    "voip",
    "flows",
    "quick",
    "full",
}
MODES = ("quick", "full")
# setting -> part of the defaults file
NAMED = {
    "channel": "channels",
    "method": "methods",
    "sender": "senders",
    "application": "applications",
}


def fits(tree: dict[str, Any], time: str) -> bool:
    """Whether the experiment can run with --time `time`. A file that asks for a time runs in that
    one only, except that one for virtual time runs in ns-3, too."""
    return tree.get("time", time) in (time, "virtual" if time == "ns3" else time)


@dataclasses.dataclass(frozen=True)
class ExperimentFile:
    path: pathlib.Path
    tree: dict[str, Any]
    common_path: pathlib.Path
    common: dict[str, Any]  # tree of the defaults file
    # settings of all points: those of the file take precedence over the defaults
    settings: dict[str, Any]
    realisations: int
    duration_s: int
    flows: list[dict[str, int]]
    grid: Grid
    until: Until | None


def read_file(path: pathlib.Path, mode: str, time: str, over: Over) -> ExperimentFile:
    path = pathlib.Path(path)
    tree = read_tree(path)
    check_parts(path, tree, PARTS)
    if missing := [p for p in NEEDED if p not in tree]:
        raise BadInput(
            f"experiment file {path}: missing keys: {', '.join(missing)}; valid: a file with"
            f" {', '.join(NEEDED)} (docs/how-to/experiments.md)"
        )
    if not fits(tree, time):
        raise not_valid(
            f"experiment file {path}: time",
            repr(tree["time"]),
            f"--time {tree['time']}",
            more=f" and --time is {time}",
        )
    common_path = path.parent / str(tree["defaults"])
    common = read_defaults(common_path, mode)
    settings = read_settings(common_path, common["settings"]) | read_settings(
        path, tree.get("settings", {})
    )
    own = tree[mode] or {}
    if not isinstance(own, dict):
        raise not_valid(f"experiment file {path}: {mode}", own, "a mapping")
    size = (
        common[mode]
        | {k: v for k, v in own.items() if k != "grid"}
        | ({"realisations": over.realisations} if over.realisations else {})
    )
    check_parts(path, size, {"realisations", "duration_s", "flows"})
    whose = f"experiment file {path}: {mode}"
    realisations = read_whole(f"{whose}: realisations", size.get("realisations"), 1, 1000)
    duration_s = read_whole(f"{whose}: duration_s", size.get("duration_s"), 1, 3600)
    flows = read_flows(whose, size.get("flows", common.get("flows", [])))
    both_sizes = [
        part["grid"]
        for part in (tree, tree["quick"], tree["full"])
        if isinstance(part, dict) and "grid" in part
    ]
    grid = Grid(path, own.get("grid", tree["grid"]), both_sizes)
    most = realisations if mode == "full" and not over.realisations else 1000
    until = read_until(path, tree.get("until"), most)
    return ExperimentFile(
        path, tree, common_path, common, settings, realisations, duration_s, flows, grid, until
    )


def read_defaults(path: pathlib.Path, mode: str) -> dict[str, Any]:
    common = read_tree(path)
    check_parts(path, common, DEFAULT_PARTS)
    for part in sorted({"settings", "channels", mode, *common} - {"flows"}):
        if (
            not isinstance(given := common.get(part), dict)
            or part in NAMED.values()
            and not all(isinstance(v, dict) for v in given.values())
        ):
            raise not_valid(
                f"experiment file {path}: {part}",
                repr(given),
                f"a mapping{' of mappings' * (part in NAMED.values())}",
            )
    return common


def read_flows(whose: str, flows: Any) -> list[dict[str, int]]:
    if not isinstance(flows, list) or not all(
        isinstance(f, dict)
        and f.keys() == {"kb", "times"}
        and all(type(n) is int and n > 0 for n in f.values())
        for f in flows
    ):
        raise not_valid(
            f"{whose}: flows",
            repr(flows),
            "a list of flow sizes and how often each is sent, such as [{kb: 100, times: 20}]",
        )
    return flows
