# SPDX-License-Identifier: GPL-3.0-or-later
"""From scenario files to runs: reading and checking, expanding the grid, the identity of a run.

An experiment file (flowgraphs/scenarios/experiments/A1.yaml) names the file of common defaults,
says what differs from them, and what varies:

  grid: {channel: [jakes, winner], modulation: [adaptive, 1, 2]}    every combination is a point
  grid: [{...}, {...}]                                              the union of several grids

Every point is run once for each realisation; the realisation is the seed of channel and noise, so
points that differ in one setting only saw the same fading, and are compared realisation by
realisation.

  until: {half_width: 0.02}     a point stops before its last realisation when its 95 % interval is
  narrow enough"""

import dataclasses
import hashlib
import itertools
import json
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import BadInput
from ..figures.estimates import estimate
from ..machine import places
from ..runs import ns3_tcp
from ..settings import emulator, inputs
from ..settings.command_line import read
from ..settings.emulator import of_another_link, scenario_of
from ..settings.kinds import Choice, Integer, Kind, Numbers, Real
from ..settings.scenario import read_yaml
from . import tcp_settings
from .settings import (
    EMULATOR,
    OF_LINUX,
    SETTINGS,
    START_S,
    TCP,
    TRAFFIC,
    VIEW,
    VIRTUAL,
    Over,
    key_of,
)

FORMAT = 1  # of the run files; part of a run's identity
AXES = {"panels", "series", "averaged", "x", "y"}  # of a figure: settings of the grid
# Kind (figures.py) -> what it needs beside its name, and what it may have beside OF_FIGURES.
FIGURES = {
    "lines": ("x metric", "panels series model share_y legend_columns xscale yscale y_from"),
    "bars": ("series metric", "x panels categories missing xlabel yscale share_y"),
    "cdf": ("series range_ms", "panels share_y"),
    "surface": ("x y metric", "panels xscale azimuth"),
    "scatter": ("series packets_per_s", ""),
    "over_time": ("series", "panels share_y"),
}
OF_FIGURES = {"name", "number", "kind", "title", "where", "averaged"}
VALUES: dict[str, Kind] = {
    "xscale": Choice("linear", "log"),
    "yscale": Choice("linear", "log"),
    "legend_columns": Integer(1, 99),
    "y_from": Real(-1e12, 1e12),
    "range_ms": Numbers(Real(0, 1e6), 2),
    "packets_per_s": Real(0.001, 1e6),
    "azimuth": Real(-360, 360),
}
PARTS = {
    "title",
    "defaults",
    "text_figures",
    "settings",
    "grid",
    "quick",
    "full",
    "figures",
    "statements",
    "measures",
    "time",
    "tcp",
    "until",
}
DEFAULT_PARTS = {
    "settings",
    "channels",
    "methods",
    "senders",
    "bulk",
    "tcp",
    "voip",
    "flows",
    "quick",
    "full",
}
MODES = ("quick", "full")
AT_LEAST = 5  # realisations of a point before it may stop
SETS = {"all": ".*", "chapter6": "[ABC][0-9]+"}  # names of several experiments, which those are
PLACES = ("", "../wlan")  # in folder(): those of `all`, those of 802.11 (D-*)
FILES = inputs.that_name_files(emulator.SETTINGS)
# setting -> part of the defaults file
NAMED = {"channel": "channels", "method": "methods", "sender": "senders"}


@dataclasses.dataclass(frozen=True)
class Point:
    """Settings of one place in the grid, sorted by name."""

    settings: tuple[tuple[str, Any], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.settings)[name]

    def matches(self, wanted: dict[str, object]) -> bool:
        mine = dict(self.settings)
        return all(mine.get(k) == v for k, v in wanted.items())

    def text(self, leave_out: Sequence[str] = ()) -> str:
        return " ".join(f"{k}={v}" for k, v in self.settings if k not in leave_out)


@dataclasses.dataclass
class Run:
    key: str
    spec: dict[str, Any]
    label: str


@dataclasses.dataclass(frozen=True)
class Until:
    """A point stops at the first realisation (of at_least) at which half its interval is at most
    `half_width` of its mean. What was run beyond it is not used, so the outcome does not depend on
    how many runs went on at a time."""

    half_width: float
    at_least: int = AT_LEAST
    metric: str | None = None  # None: that of the first figure

    def enough(self, values: dict[int, float]) -> int | None:
        """The realisation at which it stops; None: it goes on. An invalid run is not among
        `values`."""
        there = sorted(values)
        for n in range(self.at_least, len(there) + 1):
            e = estimate([values[r] for r in there[:n]])
            # none five times may still be some
            if e.half <= self.half_width * abs(e.mean) and e.mean:
                return there[n - 1]
        return None


def read_tree(path: pathlib.Path) -> dict[str, Any]:
    tree = read_yaml("experiment file", path)
    if not isinstance(tree, dict):
        raise BadInput(f"experiment file {path}: a mapping is expected")
    return tree


def read_setting(path: pathlib.Path, name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise BadInput(
            f"experiment file {path}: unknown setting {name}; known: {', '.join(SETTINGS)}"
        )
    return read(f"experiment file {path}: {name}", SETTINGS[name].kind, value)


def read_settings(path: pathlib.Path, given: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise BadInput(f"experiment file {path}: settings: a mapping is expected")
    return {name: read_setting(path, name, value) for name, value in given.items()}


def expand(path: pathlib.Path, grid: Any) -> "list[Point]":
    """Points of a grid or a list of grids, each once, in the order of the file."""
    points: dict[Point, None] = {}
    for part in grid if isinstance(grid, list) else [grid]:
        if not isinstance(part, dict) or not part:
            raise BadInput(
                f"experiment file {path}: grid: a mapping of settings to lists is expected"
            )
        names, lists = list(part), []
        for name in names:
            values = part[name] if isinstance(part[name], list) else [part[name]]
            if not values:
                raise BadInput(f"experiment file {path}: grid: {name} has no values")
            lists.append([read_setting(path, name, v) for v in values])
            if several := [v for v in lists[-1] if isinstance(v, (list, dict))]:
                raise BadInput(
                    f"experiment file {path}: grid: {name} is {several[0]!r}; valid: a number or a"
                    " word (a list is one of settings, a spike spike_at_s and spike_s)"
                )
        for values in itertools.product(*lists):
            points[Point(tuple(sorted(zip(names, values), key=lambda p: p[0])))] = None
    return list(points)


def check_parts(path: pathlib.Path | str, tree: Iterable[str], known: Iterable[str]) -> None:
    for name in tree:
        if name not in known:
            raise BadInput(
                f"experiment file {path}: unknown key {name}; known: {', '.join(sorted(known))}"
            )


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: object) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def fits(tree: dict[str, Any], time: str) -> bool:
    """The file asks for that time; for virtual time: for any but the real one."""
    return tree.get("time", time) in (time, "virtual" if time == "ns3" else time)


class NothingToRun(BadInput):
    """None of an experiment's points."""


class Experiment:
    """One experiment in one mode (quick or full)."""

    def __init__(
        self,
        path: pathlib.Path,
        mode: str,
        time: str = "real",
        tcp: dict[str, Any] | None = None,
        over: Over = Over(),
        top: pathlib.Path | None = None,
    ) -> None:
        """`tcp` and `over`: of all runs, over what the file says. `top`: the tree from which files
        are named that a run reads."""
        self.path, self.mode, self.time, self.tcp, self.over = (
            pathlib.Path(path),
            mode,
            time,
            tcp or {},
            over,
        )
        self.top = top or places.default().top
        self.name = self.path.stem
        tree = read_tree(path)
        check_parts(path, tree, PARTS)
        if missing := [
            p
            for p in ("title", "defaults", "grid", "quick", "full", "figures", "statements")
            if p not in tree
        ]:
            raise BadInput(
                f"experiment file {path}: {', '.join(missing)}"
                f" {'is' if len(missing) == 1 else 'are'} missing"
            )
        self.tree = tree
        if not fits(tree, time):
            raise BadInput(
                f"experiment file {path}: time is {tree['time']!r}: give --time {tree['time']}"
            )
        self._of_ns3(tree)
        common_path = self.path.parent / str(tree["defaults"])
        common = read_tree(common_path)
        check_parts(common_path, common, DEFAULT_PARTS)
        for part in sorted({"settings", "channels", mode, *common} - {"flows"}):
            if (
                not isinstance(given := common.get(part), dict)
                or part in NAMED.values()
                and not all(isinstance(v, dict) for v in given.values())
            ):
                raise BadInput(
                    f"experiment file {common_path}: {part} is {given!r}; valid: a"
                    f" mapping{' of mappings' * (part in NAMED.values())}"
                )
        self.title = tree["title"]
        settings = read_settings(common_path, common["settings"]) | read_settings(
            path, tree.get("settings", {})
        )
        own = tree[mode] or {}
        if not isinstance(own, dict):
            raise BadInput(f"experiment file {path}: {mode}: a mapping is expected")
        size = (
            common[mode]
            | {k: v for k, v in own.items() if k != "grid"}
            | ({"realisations": over.realisations} if over.realisations else {})
        )
        check_parts(path, size, {"realisations", "duration_s", "flows"})
        self.realisations = self._whole(size, "realisations", 1, 1000)
        self.duration_s = self._whole(size, "duration_s", 1, 3600)
        self.flows = size.get("flows", common.get("flows", []))
        if not isinstance(self.flows, list) or not all(
            isinstance(f, dict)
            and f.keys() == {"kb", "times"}
            and all(type(n) is int and n > 0 for n in f.values())
            for f in self.flows
        ):
            raise BadInput(
                f"experiment file {path}: {mode}: flows is {self.flows!r}; valid: a list of {{kb:"
                " 1.., times: 1..}"
            )
        self.points = expand(path, own.get("grid", tree["grid"]))
        grids = (
            size["grid"]
            for size in (tree, tree["quick"], tree["full"])
            if isinstance(size, dict) and "grid" in size
        )
        pairs = dict.fromkeys(
            pair for grid in grids for p in expand(path, grid) for pair in p.settings
        )
        # values of the grids of both sizes
        self.places = {name: [v for n, v in pairs if n == name] for name, _ in pairs}
        self.settings = settings
        self.common = common
        self.until = self._until(tree.get("until"))
        varied = {name for p in self.points for name, _ in p.settings}
        self._check_tcp(varied)
        self._set(varied)
        settings = self.settings
        for p in self.points:
            absent = varied - {name for name, _ in p.settings}
            if absent:
                raise BadInput(
                    f"experiment file {path}: grid: {p.text()} does not say"
                    f" {', '.join(sorted(absent))}"
                )
        self.varied = varied
        self._check_figures()
        for p in self.points:
            both = settings | dict(p.settings)
            for name, value in both.items():
                if name in NAMED and value not in common.get(NAMED[name], {}):
                    raise BadInput(
                        f"experiment file {path}: {name} is {value!r}; valid:"
                        f" {', '.join(map(str, common.get(NAMED[name], {})))}"
                    )
            if ("spike_at_s" in varied | settings.keys()) != (
                "spike_s" in varied | settings.keys()
            ):
                raise BadInput(
                    f"experiment file {path}: spike_at_s and spike_s: one is set; valid: both or"
                    " none"
                )
            self._check_names(p)
            control = both.get("congestion_control")
            if time != "ns3" and control is not None and control not in OF_LINUX:
                raise BadInput(
                    f"experiment file {path}: congestion_control is {control!r} with --time {time};"
                    f" valid: {', '.join(OF_LINUX)}"
                )
        if settings.get("workload") in VIRTUAL:
            if time == "real":
                raise BadInput(
                    f"experiment file {path}: workload is {settings['workload']!r} with --time"
                    f" {time}; valid: --time virtual"
                )
            of_route = [
                n
                for n in varied | settings.keys()
                if SETTINGS[n].role == TCP and not str(SETTINGS[n].key).startswith("sysctl.")
            ]
            if of_route:
                raise BadInput(
                    f"experiment file {path}: {of_route[0]} with workload {settings['workload']!r};"
                    " valid there: sysctls"
                )
        self._runs: dict[tuple[Point, int], Run] = {}
        try:
            for p in self.points:
                work = self.run(p, 1).spec["workload"]
                _ = work["kind"] == "voip" or (work["congestion_control"], work["window_bytes"])
        except KeyError as e:
            raise BadInput(
                f"experiment file {path}: {p.text()}: {e} is missing; valid: it stands in settings,"
                f" the grid or {common_path}"
            ) from None
        self.left_out: dict[str, int] = {}  # why: points
        if time == "ns3":
            self._leave_out()
        if over.settings:
            self._check_set()

    def _of_ns3(self, tree: dict[str, Any]) -> None:
        """`tcp` of a file for ns-3 alone is as --tcp of each of its runs; that of the command line
        goes over it."""
        given = tree.get("tcp", {})
        if given and tree.get("time") != "ns3" or not isinstance(given, dict):
            raise BadInput(
                f"experiment file {self.path}: tcp is {given!r} with time"
                f" {tree.get('time', 'real')!r}; valid: a mapping, in a file with time: ns3"
            )
        try:
            self.tcp = ns3_tcp.read(f"{name}={value}" for name, value in given.items()) | self.tcp
        except BadInput as e:
            raise BadInput(f"experiment file {self.path}: {e}") from None

    def _check_tcp(self, varied: set[str]) -> None:
        """That --tcp is over nothing that the grid varies; Linux' is a setting like those of the
        file."""
        there = {tcp_settings.key_of(name): name for name in varied}
        if self.settings.get("workload") in VIRTUAL:
            there |= {
                f"sysctl.{key.rpartition('/')[2]}": "sender"
                for sysctls in self.common.get("senders", {}).values()
                for key in sysctls
                if "sender" in varied
            }
        for name in self.tcp:
            key = tcp_settings.key_of(
                tcp_settings.OVER.get(name, name) if self.time == "ns3" else name
            )
            if key in there:
                raise NothingToRun(
                    f"experiment file {self.path}: --tcp {name} is over {there[key]}, which the"
                    " grid varies; valid: one of the two"
                )
        if self.time != "ns3" and self.tcp:
            kind, first = self.settings.get("workload"), next(iter(self.tcp))
            if kind == "voip":
                raise NothingToRun(
                    f"experiment file {self.path}: --tcp {first} with workload 'voip', which has no"
                    " TCP; valid: none"
                )
            of_route = [
                n
                for n in self.tcp
                if SETTINGS[n].role == TCP and not tcp_settings.key_of(n).startswith("sysctl.")
            ]
            if kind in VIRTUAL and of_route:
                raise NothingToRun(
                    f"experiment file {self.path}: --tcp {of_route[0]} with workload {kind!r};"
                    " valid there: sysctls, congestion_control"
                )
            self.settings = {
                n: v
                for n, v in self.settings.items()
                if tcp_settings.key_of(n) not in map(tcp_settings.key_of, self.tcp)
            } | self.tcp

    def _check_names(self, p: Point) -> None:
        """A setting of the file has no second name there, and spec() lays nothing over it: it would
        be ignored."""
        both, names = self.settings | dict(p.settings), dict[str, str]()
        laid = {
            key: (value, f"{part}: {both[name]} of the defaults has {value!r}")
            for name, part in NAMED.items()
            if name in both
            for key, value in self.common[part][both[name]].items()
        } | ({"umts.spikes": (None, "spike_s makes them")} if "spike_s" in both else {})
        for name, value in (self.tree.get("settings", {}) | dict(p.settings)).items():
            key, other = key_of(name), names.setdefault(key_of(name), name)
            also = (
                f"{other} is the same setting"
                if other != name
                else laid[key][1]
                if key in laid and laid[key][0] != value
                else ""
            )
            if also or key == "seed" or key.startswith("traffic."):
                valid = (
                    "one of the two"
                    if also
                    else (
                        "realisations instead"
                        if key == "seed"
                        else "congestion_control, window_bytes, duration_s of full or quick instead"
                    )
                )
                raise BadInput(
                    f"experiment file {self.path}: {'grid' if name in self.varied else 'settings'}:"
                    f" {name} is {value!r}{', and ' * bool(also)}{also}; valid: {valid}"
                )

    def _set(self, varied: set[str]) -> None:
        """--set goes over the file's settings, and over nothing that the grid or a part of the
        defaults that it names says."""
        there = {key_of(name): f"{name} of the grid" for name in varied}
        for name in ("channel", "method"):
            for title in dict.fromkeys(
                dict(p.settings).get(name, self.settings.get(name)) for p in self.points
            ):
                there = (
                    dict.fromkeys(
                        self.common.get(NAMED[name], {}).get(title, {}),
                        f"{NAMED[name]}: {title} of the defaults",
                    )
                    | there
                )
        there |= {"umts.spikes": "spike_s"} if "spike_s" in varied | self.settings.keys() else {}
        for name in self.over.settings:
            if key_of(name) in there:
                raise NothingToRun(
                    f"experiment file {self.path}: --set {name} is over {there[key_of(name)]};"
                    " valid: what neither says"
                )
        keys = set(map(key_of, self.over.settings))
        self.settings = {
            n: v for n, v in self.settings.items() if key_of(n) not in keys
        } | self.over.settings

    def _check_set(self) -> None:
        """Settings that the emulator would refuse in a run, or not look at."""
        for p in self.points:
            asked = self.run(p, 1).spec["emulator"]
            kind = asked.get("link.kind", "ofdm")
            for name in self.over.settings:
                if of_another_link(key_of(name), kind):
                    raise NothingToRun(
                        f"experiment file {self.path}: --set {name} with the link {kind}; valid:"
                        " settings of that"
                    )
            try:
                scenario_of(asked)
            except BadInput as e:
                raise BadInput(f"experiment file {self.path}: --set with {p.text()}: {e}") from None

    def _check_figures(self) -> None:
        """Before the runs, not after them."""
        figures = self.tree["figures"]
        if not isinstance(figures, list) or not all(isinstance(f, dict) for f in figures):
            raise BadInput(
                f"experiment file {self.path}: figures: a list is expected, of name, kind and more"
            )
        for figure in figures:
            whose = f"experiment file {self.path}: figure {figure.get('name')}"
            if (kind := str(figure.get("kind"))) not in FIGURES:
                raise BadInput(
                    f"{whose}: kind is {figure.get('kind')!r}; valid: {', '.join(FIGURES)}"
                )
            needs, may = (keys.split() for keys in FIGURES[kind])
            if missing := sorted({"name", *needs} - set(figure)) or ["x or categories"] * (
                kind == "bars" and not {"x", "categories"} & set(figure)
            ):
                raise BadInput(
                    f"{whose}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
                )
            # A comma in a text without quotes makes of its rest a key without a value.
            check_parts(
                f"{self.path}: figure {figure['name']}",
                (key for key, value in figure.items() if value is not None),
                {*OF_FIGURES, *needs, *may},
            )
            if not re.fullmatch(r"\w[\w.+ -]*", str(figure["name"])):
                raise BadInput(
                    f"{whose}: name is {figure['name']!r}; valid: letters, digits and _.+- of a"
                    " file's name"
                )
            figure |= {
                key: read(f"{whose}: {key}", VALUES[key], figure[key])
                for key in VALUES.keys() & figure.keys()
            }
            for key, fine in (
                ("range_ms", len(figure.get("range_ms", "ab")) == 2),
                ("categories", isinstance(of := figure.get("categories", [0]), list) and of),
            ):
                if not fine:
                    raise BadInput(
                        f"{whose}: {key} is {figure[key]!r}; valid: a"
                        f" list{' of two numbers' * (key == 'range_ms')}"
                    )
            self.check_chosen(f"{whose}: where", figure.get("where", {}))
            for part in AXES & set(figure):
                names = figure[part]
                several = part in ("series", "averaged")
                for name in names if several and isinstance(names, list) else [names]:
                    if not isinstance(name, str) or name not in self.places:
                        raise BadInput(
                            f"{whose}: {part} is {name!r}; valid: a setting of the"
                            f" grid{' or a list of them' * several}"
                        )
                    if kind == "surface" and part in "xy":
                        self.check_numbers(f"{whose}: {part}", name, figure.get("where", {}))

    def check_chosen(self, whose: str, chosen: Any, several: bool = False) -> None:
        """Settings by which a figure or a statement chooses points: of the grid of either size,
        with a value (a list of values) that it has."""
        if not isinstance(chosen, dict):
            raise BadInput(f"{whose} is {chosen!r}; valid: a mapping of settings of the grid")
        for name, value in chosen.items():
            there = self.places.get(name, [])
            # which may be one that no kernel has: not measured
            if not there and not str(name).startswith("sysctl."):
                raise BadInput(
                    f"{whose}: {name} is {value!r}; valid: settings of the grid,"
                    f" {', '.join(self.places)}"
                )
            if (
                several
                and not isinstance(value, list)
                or there
                and [v for v in (value if several else [value]) if v not in there]
            ):
                raise BadInput(
                    f"{whose}: {name} is {value!r}; valid:"
                    f" {'a list of ' * several}{', '.join(map(str, there))}"
                )

    def check_numbers(self, whose: str, name: str, where: dict[str, Any]) -> None:
        if words := [
            v
            for p in self.points
            if p.matches(where)
            for k, v in p.settings
            if k == name and isinstance(v, str)
        ]:
            raise BadInput(
                f"{whose} is {name}, which is {words[0]!r} in the grid; valid: a setting that is"
                " numbers there"
            )

    def _leave_out(self) -> None:
        """Points that ns-3 cannot run: their statements are not measured."""
        kept = []
        for p in self.points:
            try:
                tcp_settings.check_ns3(self.run(p, 1).spec)
                kept.append(p)
            except BadInput as e:
                self.left_out[str(e)] = self.left_out.get(str(e), 0) + 1
        if not kept:
            raise NothingToRun(f"experiment file {self.path}: {next(iter(self.left_out))}")
        self.points = kept

    def _whole(self, size: dict[str, Any], name: str, low: float, high: float) -> int:
        value = size.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise BadInput(
                f"experiment file {self.path}: {self.mode}: {name} is {value!r}; valid:"
                f" {low}..{high}"
            )
        return value

    def _until(self, given: object) -> Until | None:
        if given is None:
            return None
        # with fewer no point stops
        most = self.realisations if self.mode == "full" and not self.over.realisations else 1000
        kinds: dict[str, Any] = {
            "half_width": Real(0.001, 1),
            "at_least": Integer(2, most),
            "metric": None,
        }
        if not isinstance(given, dict) or "half_width" not in given:
            raise BadInput(
                f"experiment file {self.path}: until is {given!r}; valid: a mapping with half_width"
                " and perhaps at_least, metric"
            )
        check_parts(self.path, given, kinds)
        checked: dict[str, Any] = {
            name: (
                read(f"experiment file {self.path}: until: {name}", kinds[name], value)
                if kinds[name]
                else str(value)
            )
            for name, value in given.items()
        }
        return Until(**checked)

    def spec(self, point: Point, realisation: int) -> dict[str, Any]:
        """Everything that decides the outcome of a run."""
        settings = self.settings | dict(point.settings)
        options: dict[str, Any] = {
            key_of(k): v
            for k, v in settings.items()
            if SETTINGS[k].role == EMULATOR and k not in NAMED
        }
        for name in ("channel", "method"):
            options |= self.common[NAMED[name]][settings[name]] if name in settings else {}
        if "spike_s" in settings:
            options["umts.spikes"] = [START_S + settings["spike_at_s"], settings["spike_s"]]
        options["seed"] = realisation
        traffic = {k: v for k, v in settings.items() if SETTINGS[k].role == TRAFFIC}
        kind = traffic.pop("workload")
        if kind == "voip":
            traffic = {k: traffic[k] for k in ("qdisc", "bottleneck_mbps") if k in traffic}
            traffic |= self.common["voip"] | {"duration_s": self.duration_s}
        elif kind in VIRTUAL:
            asked = {
                f"net/ipv4/{name}": str(value)
                for name, value in self._tcp(settings, {"sysctl": {}})["sysctl"].items()
            }
            traffic |= self.common["bulk"] | {
                "sender": self.common["senders"][traffic["sender"]] | asked,
                "duration_s": self.duration_s,
            }
        else:
            traffic |= {"tcp": self._tcp(settings, self.common["tcp"])}
            traffic |= {"duration_s": self.duration_s} if kind == "tcp" else {"flows": self.flows}
        contents = inputs.hashes(options, FILES, self.top, f"experiment file {self.path}: ")
        return (
            {
                "format": FORMAT,
                "channel": settings["channel"],
                "emulator": options,
                "workload": {"kind": kind} | traffic,
                "realisation": realisation,
            }
            | ({"time": self.time} if self.time != "real" else {})
            | ({"tcp": self.tcp} if self.tcp and self.time == "ns3" else {})
            | (
                # without files it is what it was before there were these
                {"inputs": contents} if contents else {}
            )
        )

    def _tcp(self, settings: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
        tcp = usual | {"sysctl": dict(usual["sysctl"])}
        for name, value in settings.items():
            if SETTINGS[name].role == TCP:
                group, _, leaf = str(SETTINGS[name].key).rpartition(".")
                (tcp[group] if group else tcp)[leaf] = value
        return tcp

    def run(self, point: Point, realisation: int) -> "Run":
        without_view = Point(tuple((k, v) for k, v in point.settings if SETTINGS[k].role != VIEW))
        found = self._runs.get((without_view, realisation))
        if found is None:
            spec = self.spec(without_view, realisation)
            found = Run(digest(spec), spec, f"{self.name} {without_view.text()} #{realisation}")
            self._runs[without_view, realisation] = found
        return found

    def runs(self) -> "list[Run]":
        return unique_runs([self])

    @property
    def fingerprint(self) -> str:
        """Changes with anything that decides a run; a figure or a statement may be rewritten over
        finished runs."""
        return digest(sorted(r.key for r in self.runs()))

    @property
    def old_fingerprint(self) -> str:
        """The one before the contents of files were part of it."""
        return digest(
            sorted(
                {digest({k: v for k, v in r.spec.items() if k != "inputs"}) for r in self.runs()}
            )
        )

    @property
    def inputs(self) -> dict[str, str]:
        """{file that a run reads: its SHA-256}"""
        return {
            name: content for r in self.runs() for name, content in r.spec.get("inputs", {}).items()
        }


def unique_runs(experiments: list[Experiment]) -> "list[Run]":
    """All runs, each once; a realisation of everything before the next, so that an interrupted
    campaign is complete in what it has."""
    unique: dict[str, Run] = {}
    for e in experiments:
        for run in (
            e.run(point, realisation)
            for point in e.points
            for realisation in range(1, e.realisations + 1)
        ):
            unique.setdefault(run.key, run)
    return sorted(unique.values(), key=lambda run: run.spec["realisation"])


def count(experiments: list[Experiment]) -> int:
    """The number of unique_runs(), without making them: points that are the same in their first
    realisation are the same in all."""
    realisations: dict[str, int] = {}
    for e in experiments:
        for key in {e.run(point, 1).key for point in e.points}:
            realisations[key] = max(realisations.get(key, 0), e.realisations)
    return sum(realisations.values())


def folder(top: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(top) / "flowgraphs" / "scenarios" / "experiments"


def known(top: pathlib.Path, places: Sequence[str] = PLACES[:1]) -> list[str]:
    return [
        name
        for of in places
        for name in sorted(p.stem for p in (folder(top) / of).glob("*.yaml"))
        if not name.startswith("defaults")
    ]


def time_of(top: pathlib.Path, name: str) -> str:
    """That a file asks for; of 802.11, which goes without the clock, the usual one."""
    path = path_of(top, name) or top
    return str(read_tree(path).get("time", "real" if path.parent == folder(top) else "virtual"))


def path_of(top: pathlib.Path, name: str) -> pathlib.Path | None:
    """Reads an experiment by its name, or a user's own file."""
    if name.endswith(".yaml"):
        return pathlib.Path(name)
    return next(
        (
            p
            for of in PLACES
            if name != "defaults" and (p := folder(top) / of / f"{name}.yaml").exists()
        ),
        None,
    )


def load(
    top: pathlib.Path,
    names: Sequence[str],
    mode: str,
    time: str = "real",
    tcp: dict[str, Any] | None = None,
    left_out: dict[str, str] | None = None,
    over: Over = Over(),
) -> list[Experiment]:
    """Experiments by name, or by the path of a file (NAME.yaml) of one's own; a name of SETS: those
    of it that run in this time, and `left_out` why others do not."""
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
                f"unknown experiment {name}; known: {', '.join(there)}, or a file NAME.yaml; alone:"
                f" {', '.join(SETS)}"
            )
        try:
            e = Experiment(path, mode, time, tcp, over, top)
        except NothingToRun as why:
            if not a_set:
                raise
            if left_out is not None:
                left_out[name] = str(why)
            continue
        if e.name in experiments:
            raise BadInput(
                f"experiment {e.name} is named twice: {experiments[e.name].path} and {e.path}"
            )
        experiments[e.name] = e
    return list(experiments.values())
