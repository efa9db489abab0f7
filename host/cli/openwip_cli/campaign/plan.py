# SPDX-License-Identifier: GPL-3.0-or-later
"""From an experiment to its runs, and the identity of a run.

Every point is run once for each realisation; the realisation is the seed of channel and noise, so
points that differ in one setting only have had the same fading, and are compared realisation by
realisation."""

import hashlib
import json
import pathlib
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..machine import places
from ..settings import emulator, inputs
from ..settings.emulator import of_another_link, scenario_of
from . import layers, tcp_settings
from .experiment_file import NAMED, read_file
from .figure_kinds import check_figures
from .grid import Point
from .layers import NothingToRun
from .settings import EMULATOR, SETTINGS, START_S, TCP, TRAFFIC, VIEW, VIRTUAL, Over, key_of

FORMAT = 1  # version of the run files' format; part of a run's identity
FILES = inputs.that_name_files(emulator.SETTINGS)


class Run:
    """One run. Its specification is made when it is asked for: a hundred thousand of them are more
    than a computer should hold."""

    __slots__ = ("_label", "_spec", "key", "realisation")

    def __init__(
        self,
        key: str,
        spec: dict[str, Any] | Callable[[], dict[str, Any]],
        label: str | Callable[[], str],
        realisation: int | None = None,
    ) -> None:
        self.key, self._spec, self._label = key, spec, label
        self.realisation = self.spec["realisation"] if realisation is None else realisation

    @property
    def spec(self) -> dict[str, Any]:
        return self._spec() if callable(self._spec) else self._spec

    @property
    def label(self) -> str:
        return self._label() if callable(self._label) else self._label


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: object) -> str:
    return _digest_of(canonical(value))


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Planned:
    """All realisations of a point: they differ in two numbers of the specification."""

    MARKS = (-(1 << 62), -(1 << 62) - 1)  # numbers that no specification has

    def __init__(self, spec: dict[str, Any], label: str) -> None:
        self.base, self.label = spec, label
        seed, realisation = self.MARKS
        text = canonical(
            spec | {"emulator": spec["emulator"] | {"seed": seed}, "realisation": realisation}
        )
        # keys are sorted: emulator, which has the seed, before realisation
        self.before, _, rest = text.partition(str(seed))
        self.between, _, self.after = rest.partition(str(realisation))

    def run(self, realisation: int) -> Run:
        text = f"{self.before}{realisation}{self.between}{realisation}{self.after}"
        return Run(
            _digest_of(text),
            lambda: self.spec(realisation),
            lambda: f"{self.label} #{realisation}",
            realisation,
        )

    def spec(self, realisation: int) -> dict[str, Any]:
        base = self.base
        return base | {
            "emulator": base["emulator"] | {"seed": realisation},
            "realisation": realisation,
        }


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
        """`tcp` and `over`: settings for all runs, which replace those of the file. `top`: the tree
        in which files that a run reads are named."""
        file = self.file = read_file(path, mode, time, over)
        self.mode, self.time, self.over = mode, time, over
        self.top = top or places.default().top
        self.path, self.name, self.tree = file.path, file.path.stem, file.tree
        self.title, self.common, self.grid = file.tree["title"], file.common, file.grid
        self.realisations, self.duration_s = file.realisations, file.duration_s
        self.flows, self.until = file.flows, file.until
        self.tcp = layers.tcp_of_ns3(file, tcp or {})
        self.settings = layers.with_set(
            file, layers.with_tcp(file, file.settings, time, self.tcp), over
        )
        self.grid.check_complete()
        check_figures(self.path, self.tree["figures"], self.grid)
        for point in self.points:
            layers.check_point(file, self.settings, point, time)
        layers.check_applications(file, self.settings, time)
        self._planned: dict[Point, Planned] = {}
        self._check_runs()
        self.skipped: dict[str, int] = {}  # why: points
        if time == "ns3":
            self._leave_out()
        if over.settings:
            self._check_set()

    @property
    def points(self) -> list[Point]:
        return self.grid.points

    @property
    def numbers(self) -> range:
        """The values of the realisations."""
        return range(1, self.realisations + 1)

    @property
    def varied(self) -> set[str]:
        return self.grid.varied

    def _check_runs(self) -> None:
        """Checks that every setting which decides a run is given somewhere."""
        try:
            for p in self.points:
                work = self.run(p, 1).spec["workload"]
                _ = work["kind"] == "voip" or (work["congestion_control"], work["window_bytes"])
        except KeyError as e:
            raise BadInput(
                f"experiment file {self.path}: {p.text()}: the setting {e} is missing; valid: a"
                f" value of it in settings, in the grid or in {self.file.common_path}"
            ) from None

    def _check_set(self) -> None:
        """Settings that the emulator would refuse in a run, or not look at."""
        for p in self.points:
            asked = self.run(p, 1).spec["emulator"]
            kind = asked.get("link.kind", "ofdm")
            for name in self.over.settings:
                if of_another_link(key_of(name), kind):
                    raise NothingToRun(
                        f"experiment file {self.path}: --set {name} is given for an experiment"
                        f" with link.kind = {kind}; valid: settings of that kind of link"
                    )
            try:
                scenario_of(asked)
            except BadInput as e:
                raise BadInput(f"experiment file {self.path}: --set with {p.text()}: {e}") from None

    def _leave_out(self) -> None:
        """Points that ns-3 cannot run: their statements are not measured."""
        kept = []
        for p in self.points:
            try:
                tcp_settings.check_ns3(self.run(p, 1).spec)
                kept.append(p)
            except BadInput as e:
                self.skipped[str(e)] = self.skipped.get(str(e), 0) + 1
        if not kept:
            raise NothingToRun(f"experiment file {self.path}: {next(iter(self.skipped))}")
        self.grid.points = kept

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
            route = self._tcp(settings, {"sysctl": {}})
            asked = {f"net/ipv4/{name}": str(v) for name, v in route.pop("sysctl").items()}
            traffic |= (
                self.common["bulk"]
                | {
                    "sender": self.common["senders"][traffic["sender"]] | asked,
                    "duration_s": self.duration_s,
                }
                | ({"route": route} if route else {})
            )
            if "application" in traffic:
                traffic["application"] = self.common["applications"][traffic["application"]]
        else:
            traffic |= {"tcp": self._tcp(settings, self.common["tcp"])}
            much: dict[str, Any] = (
                {"duration_s": self.duration_s} if kind == "tcp" else {"flows": self.flows}
            )
            traffic |= much
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
                # Without files the specification is the same as before file contents were part of it.
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

    def planned(self, point: Point) -> Planned:
        if (found := self._planned.get(point)) is None:
            without_view = Point(
                tuple((k, v) for k, v in point.settings if SETTINGS[k].role != VIEW)
            )
            found = self._planned.get(without_view) or Planned(
                self.spec(without_view, 1), f"{self.name} {without_view.text()}"
            )
            self._planned[point] = self._planned[without_view] = found
        return found

    def run(self, point: Point, realisation: int) -> Run:
        return self.planned(point).run(realisation)

    def runs(self) -> list[Run]:
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
            name: content
            for p in self.points
            for name, content in self.planned(p).base.get("inputs", {}).items()
        }


def unique_runs(experiments: list[Experiment]) -> list[Run]:
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
    return sorted(unique.values(), key=lambda run: run.realisation)


def count(experiments: list[Experiment]) -> int:
    """The number of unique_runs(), without making them: points that are the same in their first
    realisation are the same in all."""
    realisations: dict[str, int] = {}
    for e in experiments:
        for key in {e.run(point, 1).key for point in e.points}:
            realisations[key] = max(realisations.get(key, 0), e.realisations)
    return sum(realisations.values())
