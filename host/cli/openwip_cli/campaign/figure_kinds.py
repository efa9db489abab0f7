# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of figures that an experiment file can ask for (figures.py draws them), and what is refused
of one before any run is made."""

import pathlib
import re
from typing import Any

from ..errors import BadInput, not_valid, shown
from ..settings.command_line import read
from ..settings.kinds import Choice, Integer, Kind, Numbers, Real
from .file_parts import check_parts
from .grid import Grid

# parts of a figure that name settings of the grid
AXES = {"panels", "series", "averaged", "x", "y"}
# Kind -> what it needs beside its name, and what it may have beside OF_FIGURES.
FIGURES = {
    "lines": ("x metric", "panels series model share_y legend_columns xscale yscale y_from"),
    "bars": ("series metric", "x panels categories missing xlabel yscale share_y"),
    "cdf": ("series range_ms", "panels share_y"),
    "surface": ("x y metric", "panels xscale azimuth"),
    "scatter": ("series packets_per_s", ""),
    "over_time": ("series", "panels share_y"),
    "against": ("x_metric metric series", "panels yscale"),
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


def check_figures(path: pathlib.Path, figures: Any, grid: Grid) -> None:
    if not isinstance(figures, list) or not all(isinstance(f, dict) for f in figures):
        raise BadInput(
            f"experiment file {path}: figures is {shown(figures)}; valid: a list of mappings, each"
            " with the keys name and kind and those of its kind"
        )
    for figure in figures:
        whose = f"experiment file {path}: figure {figure.get('name')}"
        check_keys(path, whose, figure)
        check_values(whose, figure)
        check_axes(whose, figure, grid)


def check_keys(path: pathlib.Path, whose: str, figure: dict[str, Any]) -> None:
    if (kind := str(figure.get("kind"))) not in FIGURES:
        raise not_valid(f"{whose}: kind", repr(figure.get("kind")), ", ".join(FIGURES))
    needs, may = (keys.split() for keys in FIGURES[kind])
    if missing := sorted({"name", *needs} - set(figure)) or ["x or categories"] * (
        kind == "bars" and not {"x", "categories"} & set(figure)
    ):
        raise BadInput(
            f"{whose}: missing keys: {', '.join(missing)}; valid for kind {kind}: name,"
            f" {', '.join([*needs, *may])}"
        )
    # A comma in a text without quotes makes of its rest a key without a value.
    check_parts(
        f"{path}: figure {figure['name']}",
        (key for key, value in figure.items() if value is not None),
        {*OF_FIGURES, *needs, *may},
    )


def check_values(whose: str, figure: dict[str, Any]) -> None:
    """Checks the values of a figure, and replaces them in it by what they were read as."""
    if not re.fullmatch(r"\w[\w.+ -]*", str(figure["name"])):
        raise not_valid(
            f"{whose}: name",
            repr(figure["name"]),
            "a file name of letters, digits, spaces and _.+-",
        )
    figure |= {
        key: read(f"{whose}: {key}", VALUES[key], figure[key])
        for key in VALUES.keys() & figure.keys()
    }
    for key, is_valid in (
        ("range_ms", len(figure.get("range_ms", "ab")) == 2),
        (
            "categories",
            isinstance(categories := figure.get("categories", [0]), list) and categories,
        ),
    ):
        if not is_valid:
            raise not_valid(
                f"{whose}: {key}",
                repr(figure[key]),
                f"a list{' of two numbers' * (key == 'range_ms')}",
            )


def check_axes(whose: str, figure: dict[str, Any], grid: Grid) -> None:
    grid.check_chosen(f"{whose}: where", figure.get("where", {}))
    for part in AXES & set(figure):
        names = figure[part]
        several = part in ("series", "averaged")
        for name in names if several and isinstance(names, list) else [names]:
            if not isinstance(name, str) or name not in grid.values:
                raise not_valid(
                    f"{whose}: {part}",
                    repr(name),
                    f"{'one or a list of ' * several}{', '.join(grid.values)}, which the grid"
                    " varies",
                )
            if figure["kind"] == "surface" and part in "xy":
                grid.check_numbers(f"{whose}: {part}", name, figure.get("where", {}))
