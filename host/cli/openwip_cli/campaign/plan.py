# SPDX-License-Identifier: GPL-3.0-or-later
"""From scenario files to runs: reading and checking, expanding the grid, the identity of a run, the cost.

An experiment file (flowgraphs/scenarios/experiments/A1.yaml) names the file of common defaults, says
what differs from them, and what varies:

  grid: {channel: [jakes, winner], modulation: [adaptive, 1, 2]}    every combination is a point
  grid: [{...}, {...}]                                              the union of several grids

Every point is run once for each realisation; the realisation is the seed of channel and noise, so points that differ
in one setting only saw the same fading, and are compared realisation by realisation."""
import dataclasses
import hashlib
import itertools
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import BadInput
from ..settings.command_line import read
from ..settings.scenario import read_yaml
from .settings import EMULATOR, SETTINGS, TRAFFIC, VIEW

FORMAT = 1                  # of the run files; part of a run's identity
PARTS = {"title", "defaults", "text_figures", "settings", "grid", "quick", "full", "figures", "statements", "measures"}
DEFAULT_PARTS = {"settings", "channels", "tcp", "voip", "flows", "quick", "full"}
MODES = ("quick", "full")
OVERHEAD_S = 3.2            # of a run besides its traffic: namespaces, start, drain, end (measured)
VIRTUAL_OVERHEAD_S, VIRTUAL_SPEED = 0.4, 12      # the same in virtual time


@dataclasses.dataclass(frozen=True)
class Point:
    """Settings of one place in the grid, sorted by name."""
    settings: tuple

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    def matches(self, wanted: dict[str, Any]) -> bool:
        mine = dict(self.settings)
        return all(mine.get(k) == v for k, v in wanted.items())

    def text(self, leave_out: Sequence[str] = ()) -> str:
        return " ".join(f"{k}={v}" for k, v in self.settings if k not in leave_out)


@dataclasses.dataclass
class Run:
    key: str
    spec: dict
    cost_s: float
    label: str


def read_tree(path: pathlib.Path) -> dict[str, Any]:
    tree = read_yaml("experiment file", path)
    if not isinstance(tree, dict):
        raise BadInput(f"experiment file {path}: a mapping is expected")
    return tree


def read_setting(path: pathlib.Path, name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise BadInput(f"experiment file {path}: unknown setting {name}; known: {', '.join(SETTINGS)}")
    return read(f"experiment file {path}: {name}", SETTINGS[name].kind, value)


def read_settings(path: pathlib.Path, given: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(f"experiment file {path}: settings: a mapping is expected")
    return {name: read_setting(path, name, value) for name, value in given.items()}


def expand(path: pathlib.Path, grid: Any) -> "list[Point]":
    """Points of a grid or a list of grids, each once, in the order of the file."""
    points: dict[Any, Any] = {}
    for part in grid if isinstance(grid, list) else [grid]:
        if not isinstance(part, dict) or not part:
            raise BadInput(f"experiment file {path}: grid: a mapping of settings to lists is expected")
        names, lists = list(part), []
        for name in names:
            values = part[name] if isinstance(part[name], list) else [part[name]]
            if not values:
                raise BadInput(f"experiment file {path}: grid: {name} has no values")
            lists.append([read_setting(path, name, v) for v in values])
        for values in itertools.product(*lists):
            points[Point(tuple(sorted(zip(names, values), key=lambda p: p[0])))] = None
    return list(points)


def check_parts(path: pathlib.Path, tree: dict[str, Any], known: Iterable[str]) -> None:
    for name in tree:
        if name not in known:
            raise BadInput(f"experiment file {path}: unknown key {name}; known: {', '.join(sorted(known))}")


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


class Experiment:
    """One experiment in one mode (quick or full)."""

    def __init__(self, path: pathlib.Path, mode: str, time: str = "real") -> None:
        self.path, self.mode, self.time = pathlib.Path(path), mode, time
        self.name = self.path.stem
        tree = read_tree(path)
        check_parts(path, tree, PARTS)
        for part in ("title", "defaults", "grid", "quick", "full", "figures", "statements"):
            if part not in tree:
                raise BadInput(f"experiment file {path}: {part} is missing")
        self.tree = tree
        common_path = self.path.parent / str(tree["defaults"])
        common = read_tree(common_path)
        check_parts(common_path, common, DEFAULT_PARTS)
        self.common = common
        self.title = tree["title"]
        settings = read_settings(common_path, common["settings"]) | read_settings(path, tree.get("settings", {}))
        own = tree[mode] or {}
        if not isinstance(own, dict):
            raise BadInput(f"experiment file {path}: {mode}: a mapping is expected")
        size = common[mode] | {k: v for k, v in own.items() if k != "grid"}
        check_parts(path, size, {"realisations", "duration_s", "flows"})
        self.realisations = self._whole(size, "realisations", 1, 1000)
        self.duration_s = self._whole(size, "duration_s", 1, 3600)
        self.flows = size.get("flows", common.get("flows", {}))
        self.points = expand(path, own.get("grid", tree["grid"]))
        self.settings = settings
        varied = {name for p in self.points for name, _ in p.settings}
        for p in self.points:
            absent = varied - {name for name, _ in p.settings}
            if absent:
                raise BadInput(f"experiment file {path}: grid: {p.text()} does not say {', '.join(sorted(absent))}")
        self.varied = varied
        for p in self.points:
            channel = (settings | dict(p.settings)).get("channel")
            if channel not in common["channels"]:
                raise BadInput(f"experiment file {path}: channel is {channel!r}; valid: {', '.join(common['channels'])}")
        self._runs: dict[Any, Run] = {}

    def _whole(self, size: dict[str, Any], name: str, low: float, high: float) -> int:
        value = size.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadInput(f"experiment file {self.path}: {self.mode}: {name} is {value!r}; valid: {low}..{high}")
        return value

    def spec(self, point: Point, realisation: int) -> dict[str, Any]:
        """Everything that decides the outcome of a run."""
        settings = self.settings | dict(point.settings)
        options = {SETTINGS[k].key: v for k, v in settings.items() if SETTINGS[k].role == EMULATOR and k != "channel"}
        options |= self.common["channels"][settings["channel"]]
        options["seed"] = realisation
        traffic = {k: v for k, v in settings.items() if SETTINGS[k].role == TRAFFIC}
        kind = traffic.pop("workload")
        if kind == "voip":
            traffic = {k: traffic[k] for k in ("qdisc", "bottleneck_mbps") if k in traffic}
            traffic |= self.common["voip"] | {"duration_s": self.duration_s}
        else:
            traffic |= {"tcp": self.common["tcp"]}
            traffic |= {"duration_s": self.duration_s} if kind == "tcp" else {"flows": self.flows}
        return {"format": FORMAT, "channel": settings["channel"], "emulator": options,
                "workload": {"kind": kind} | traffic, "realisation": realisation} | ({"time": self.time} if self.time != "real" else {})

    def run(self, point: Point, realisation: int) -> "Run":
        without_view = Point(tuple((k, v) for k, v in point.settings if SETTINGS[k].role != VIEW))
        found = self._runs.get((without_view, realisation))
        if found is None:
            spec = self.spec(without_view, realisation)
            found = Run(digest(spec), spec, cost(spec), f"{self.name} {without_view.text()} #{realisation}")
            self._runs[without_view, realisation] = found
        return found

    def runs(self) -> "list[Run]":
        """Each once; a realisation of all points before the next, so that an interrupted experiment is
        complete in what it has."""
        unique: dict[str, Run] = {}
        for realisation in range(1, self.realisations + 1):
            for point in self.points:
                run = self.run(point, realisation)
                unique.setdefault(run.key, run)
        return list(unique.values())

    @property
    def fingerprint(self) -> str:
        """Changes with anything that decides a run; a figure or a statement may be rewritten over finished runs."""
        return digest(sorted(r.key for r in self.runs()))


def cost(spec: dict[str, Any]) -> float:
    """Seconds that a run takes."""
    traffic = traffic_s(spec)
    return VIRTUAL_OVERHEAD_S + traffic / VIRTUAL_SPEED if spec.get("time") == "virtual" else OVERHEAD_S + traffic


def traffic_s(spec: dict[str, Any]) -> float:
    work = spec["workload"]
    if work["kind"] != "flows":
        return work["duration_s"] + (1.0 if work["kind"] == "voip" else 0.6)
    rtt = 2 * spec["emulator"]["wired.delay_ms"] / 1000 + 0.008
    seconds = 0.0
    for flow in work["flows"]:
        bits = flow["kb"] * 8000
        # Slow start from 3 segments, and then the link at 4 Mbit/s.
        seconds += flow["times"] * (2.5 * rtt + rtt * max(0, min(4, bits / 34752 - 1)) + bits / 4e6)
    return seconds


def unique_runs(experiments: list[Experiment]) -> "list[Run]":
    """All runs of several experiments, each once, again one realisation of everything before the next."""
    unique: dict[str, Run] = {}
    for e in experiments:
        for run in e.runs():
            unique.setdefault(run.key, run)
    return sorted(unique.values(), key=lambda run: run.spec["realisation"])


def estimate_s(runs: "list[Run]", jobs: int) -> float:
    """Longest first on `jobs` machines is at most this."""
    total = sum(r.cost_s for r in runs)
    return total / jobs + (max((r.cost_s for r in runs), default=0) if jobs > 1 else 0)


def folder(top: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(top) / "flowgraphs" / "scenarios" / "experiments"


def known(top: pathlib.Path) -> list[str]:
    return sorted(p.stem for p in folder(top).glob("*.yaml") if p.stem != "defaults")


def load(top: pathlib.Path, names: Any, mode: str, time: str = "real") -> list[Any]:
    """Experiments by name, or by the path of a file (NAME.yaml) of one's own."""
    there = known(top)
    if names == ["all"]:
        names = there
    experiments: dict[str, Experiment] = {}
    for name in dict.fromkeys(names):
        own = name.endswith(".yaml")
        if not own and name not in there:
            raise BadInput(f"unknown experiment {name}; known: {', '.join(there)}, or a file NAME.yaml")
        e = Experiment(name if own else folder(top) / f"{name}.yaml", mode, time)
        if e.name in experiments:
            raise BadInput(f"experiment {e.name} is named twice: {experiments[e.name].path} and {e.path}")
        experiments[e.name] = e
    return list(experiments.values())
