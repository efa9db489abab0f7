# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the monitor's controls, by the table of settings: one for each setting of a running
cell that has a column `monitor`. The build compiles them into the monitor (code.py)."""

import dataclasses
from typing import Any

from . import table
from .kinds import Choice, Integer, number_of


@dataclasses.dataclass
class Row:
    """`kind`: choice, whole or real. The range is that of a number."""

    group: str  # heading, and the name below it
    label: str
    station: str  # station whose control socket takes the setting
    key: str  # key in that station's configuration
    kind: str
    choices: list[str]
    low: float
    high: float
    unit: str
    help: str


def capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def row(key: str, views: table.Views) -> Row | None:
    """The row of a setting; None: the monitor has no control for it in this kind of cell."""
    monitor, station = table.column(key, "monitor", views), table.column(key, "live", views)
    if not monitor or not station:
        return None
    ((group, label),) = monitor.items()
    kind: Any = table.kind_of(key, views)
    number = number_of(kind)
    words = kind.words if isinstance(kind, Choice) else ()
    choices = list(table.column(key, "offers", views) or words)
    unit = table.column(key, "unit", views)
    return Row(
        group,
        label,
        station,
        table.entries()[key].get("like", key),
        "choice" if choices else "whole" if isinstance(number, Integer) else "real",
        choices,
        getattr(number, "low", 0),
        getattr(number, "high", 0),
        "" if capitalised(unit) == label else unit,  # "Bins: 10 bins" says it twice
        capitalised(table.column(key, "help", views)),
    )


def rows() -> list[Row]:
    """The rows in the order of the table, those of a heading together. A setting that both kinds of
    cell have is one row with the wider range, because the window does not know which kind of cell
    it shows. A process refuses a value that it cannot take."""
    found: list[Row] = []
    for key in table.entries():
        for command in table.CELLS:
            if not {command, f"{command}-live"} & set(table.programs(key)):
                continue
            one = row(key, table.views(command, running=True))
            if one is None:
                continue
            same = [r for r in found if (r.station, r.key) == (one.station, one.key)]
            if not same:
                last = [n for n, r in enumerate(found, 1) if r.group == one.group]
                found.insert(last[-1] if last else len(found), one)
                continue
            (known,) = same
            known.low, known.high = min(known.low, one.low), max(known.high, one.high)
            known.choices += [word for word in one.choices if word not in known.choices]
    return found


def choices() -> dict[str, list[str]]:
    """{"base link.modulation": what its list offers}."""
    return {f"{r.station} {r.key}": r.choices for r in rows() if r.choices}
