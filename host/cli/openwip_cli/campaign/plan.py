# SPDX-License-Identifier: GPL-3.0-or-later
"""From scenario files to runs: reading and checking, expanding the grid, the identity of a run.

An experiment file (flowgraphs/scenarios/experiments/A1.yaml) names the file of common defaults, says
what differs from them, and what varies:

  grid: {channel: [jakes, winner], modulation: [adaptive, 1, 2]}    every combination is a point
  grid: [{...}, {...}]                                              the union of several grids

Every point is run once for each realisation; the realisation is the seed of channel and noise, so points that differ
in one setting only saw the same fading, and are compared realisation by realisation.

  until: {half_width: 0.02}     a point stops before its last realisation when its 95 % interval is narrow enough"""
import dataclasses
import hashlib
import itertools
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import BadInput
from ..figures.estimates import estimate
from ..settings.command_line import read
from ..settings.kinds import Integer, Real
from ..settings.scenario import read_yaml
from .settings import EMULATOR, SETTINGS, TRAFFIC, VIEW

FORMAT = 1                  # of the run files; part of a run's identity
PARTS = {"title", "defaults", "text_figures", "settings", "grid", "quick", "full", "figures", "statements", "measures", "until"}
DEFAULT_PARTS = {"settings", "channels", "tcp", "voip", "flows", "quick", "full"}
MODES = ("quick", "full")
AT_LEAST = 5                # realisations of a point before it may stop


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
    label: str


@dataclasses.dataclass(frozen=True)
class Until:
    """A point stops at the first realisation (of at_least) at which half its interval is at most `half_width` of its mean. What
    was run beyond it is not used, so the outcome does not depend on how many runs went on at a time."""
    half_width: float
    at_least: int = AT_LEAST
    metric: str | None = None       # None: that of the first figure

    def enough(self, values: dict[int, float]) -> int | None:
        """The realisation at which it stops; None: it goes on. An invalid run is not among `values`."""
        there = sorted(values)
        for n in range(self.at_least, len(there) + 1):
            e = estimate([values[r] for r in there[:n]])
            if e.half <= self.half_width * abs(e.mean):
                return there[n - 1]
        return None


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
        self.until = self._until(tree.get("until"))
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

    def _until(self, given: Any) -> Until | None:
        if given is None:
            return None
        kinds: dict[str, Any] = {"half_width": Real(0.001, 1), "at_least": Integer(2, self.realisations), "metric": None}
        if not isinstance(given, dict) or "half_width" not in given:
            raise BadInput(f"experiment file {self.path}: until is {given!r}; valid: a mapping with half_width and perhaps at_least, metric")
        check_parts(self.path, given, kinds)
        return Until(**{name: read(f"experiment file {self.path}: until: {name}", kinds[name], value) if kinds[name] else str(value)
                        for name, value in given.items()})

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
            found = Run(digest(spec), spec, f"{self.name} {without_view.text()} #{realisation}")
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


def unique_runs(experiments: list[Experiment]) -> "list[Run]":
    """All runs of several experiments, each once, again one realisation of everything before the next."""
    unique: dict[str, Run] = {}
    for e in experiments:
        for run in e.runs():
            unique.setdefault(run.key, run)
    return sorted(unique.values(), key=lambda run: run.spec["realisation"])


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
