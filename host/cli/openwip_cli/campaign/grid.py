# SPDX-License-Identifier: GPL-3.0-or-later
"""The grid of an experiment: the points that it consists of, and the settings by which its figures and
statements choose some of them.

  grid: {channel: [jakes, winner], modulation: [adaptive, 1, 2]}    every combination is a point
  grid: [{...}, {...}]                                              the union of several grids"""

import dataclasses
import itertools
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import BadInput, not_valid, shown
from .file_parts import read_setting


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


def expand(path: pathlib.Path, grid: Any) -> list[Point]:
    """Points of a grid or a list of grids, each once, in the order of the file."""
    points: dict[Point, None] = {}
    for part in grid if isinstance(grid, list) else [grid]:
        if not isinstance(part, dict) or not part:
            raise BadInput(
                f"experiment file {path}: grid is {shown(part)}; valid: a mapping of settings to"
                f" lists of values, such as {{snr: [10, 20]}}"
            )
        names, lists = list(part), []
        for name in names:
            values = part[name] if isinstance(part[name], list) else [part[name]]
            if not values:
                raise BadInput(
                    f"experiment file {path}: grid: the list of values of {name} is empty; valid:"
                    " one value or more"
                )
            lists.append([read_setting(path, name, v) for v in values])
            if several := [v for v in lists[-1] if isinstance(v, (list, dict))]:
                raise not_valid(
                    f"experiment file {path}: grid: {name}",
                    repr(several[0]),
                    "a number or a word as each value of a grid; a setting that is a list stands"
                    " in settings, and a delay spike is set by spike_at_s and spike_s",
                )
        for values in itertools.product(*lists):
            points[Point(tuple(sorted(zip(names, values), key=lambda p: p[0])))] = None
    return list(points)


class Grid:
    """`points` of the size that runs; `values` of each setting, in the grids of both sizes."""

    def __init__(self, path: pathlib.Path, grid: Any, both_sizes: Iterable[Any]) -> None:
        self.path = path
        self.points = expand(path, grid)
        pairs = dict.fromkeys(
            pair for other in both_sizes for p in expand(path, other) for pair in p.settings
        )
        self.values = {name: [v for n, v in pairs if n == name] for name, _ in pairs}

    @property
    def varied(self) -> set[str]:
        return {name for p in self.points for name, _ in p.settings}

    def check_complete(self) -> None:
        for p in self.points:
            if absent := self.varied - {name for name, _ in p.settings}:
                raise BadInput(
                    f"experiment file {self.path}: grid: the point {p.text()} has no value of"
                    f" {', '.join(sorted(absent))}, which another part of the grid varies; valid:"
                    " the same settings in each part"
                )

    def check_chosen(self, whose: str, chosen: Any, several: bool = False) -> None:
        """Checks the settings by which a figure or a statement chooses points: each has to be in
        the grid of either size, with a value (`several`: a list of values) that the grid has.
        Raises BadInput."""
        if not isinstance(chosen, dict):
            raise not_valid(
                whose, repr(chosen), "a mapping of settings that the grid varies to values"
            )
        for name, value in chosen.items():
            there = self.values.get(name, [])
            # The value may be one that no kernel has; it is then not measured.
            if not there and not str(name).startswith("sysctl."):
                raise not_valid(
                    f"{whose}: {name}",
                    repr(value),
                    f"settings that the grid varies: {', '.join(self.values)}",
                )
            if (
                several
                and not isinstance(value, list)
                or there
                and [v for v in (value if several else [value]) if v not in there]
            ):
                raise not_valid(
                    f"{whose}: {name}",
                    repr(value),
                    f"{'a list of ' * several}{', '.join(map(str, there))}",
                )

    def check_numbers(
        self, whose: str, name: str, where: dict[str, Any], among: list[Any] | None = None
    ) -> None:
        """`among`: only these values are looked at."""
        if words := [
            v
            for p in self.points
            if p.matches(where)
            for k, v in p.settings
            if k == name and isinstance(v, str) and (among is None or v in among)
        ]:
            raise not_valid(
                whose,
                name,
                "a setting whose values in the grid are numbers",
                more=f", which has the value {words[0]!r} in the grid",
            )
