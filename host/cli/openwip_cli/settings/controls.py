# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings that can be changed in a running cell, and their processes: the table of settings
(table.py) for ./openwip set and get and, as JSON, for other programs (docs/how-to/controls.md).

A key is the key of the scenario file. Requests to its process have the process's own key. A key
that cannot change has a reason instead of a process that takes it. What a medium or fader takes of
its channel it takes of each path, under paths.NAME and that key."""

import dataclasses
from typing import Any

from ..errors import BadInput, not_valid
from . import table as settings
from .kinds import with_unit
from .scenario import text_of
from .table import CELLS

BUILT_WITH = "the process has been built with it"


@dataclasses.dataclass
class Control(settings.Setting):
    """One key of one kind of cell."""

    process: str | None = None  # base, terminal, air; None: the launcher
    process_key: str = ""  # dotted, in that process's effective_yaml
    why_not: str = ""  # empty: it can change

    def check(self, text: str) -> str:
        """Canonical text of a value. Raises BadInput."""
        if self.why_not:
            raise BadInput(
                f"{self.key} cannot change in a running cell: {self.why_not}; valid: set it when"
                " the cell is started"
            )
        try:
            return text_of(self.kind.read(text))
        except (ValueError, TypeError, OverflowError):
            raise not_valid(self.key, text, self.kind.valid) from None

    def describe(self) -> dict[str, Any]:
        """A description for programs that make an editor of the control."""
        kind: Any = getattr(self.kind, "kind", self.kind)
        words, low, high = (
            list(getattr(kind, "words", ())),
            getattr(kind, "low", None),
            getattr(kind, "high", None),
        )
        return {
            "key": self.key,
            "process": self.process,
            "process_key": self.process_key,
            "type": kind.name,
            "words": words,
            "low": low,
            "high": high,
            "valid": with_unit(kind, self.unit),
            "unit": self.unit,
            "help": self.help,
            "changeable": not self.why_not,
            "why_not": self.why_not,
        }


ANY_PATH = "SENDER:RECEIVER"


def path_key(path: str, key: str) -> str:
    return f"paths.{path}.{key}"


def parts(key: str) -> list[str]:
    """The path that a key names; the name of a path may have dots."""
    if not key.startswith("paths."):
        return key.split(".")
    path, _, rest = key.removeprefix("paths.").partition(".channel.")
    return ["paths", path, "channel", rest]


def of_a_path(row: Control) -> bool:
    return row.process == "air" and not row.why_not and row.process_key.startswith("channel.")


def with_paths(rows: dict[str, Control], paths: list[str]) -> dict[str, Control]:
    """Adds the controls of each path of the medium. If there are several, those without the name of
    a path cannot be set."""
    found = dict(rows)
    for r in filter(of_a_path, rows.values()):
        if len(paths) > 1:
            found[r.key] = dataclasses.replace(
                r,
                why_not=(
                    f"it is that of {len(paths)} paths; with --path, one of: {', '.join(paths)}"
                ),
            )
        for path in paths:
            key = path_key(path, r.key)
            found[key] = dataclasses.replace(r, key=key, process_key=path_key(path, r.process_key))
    return found


def owner(command: str, process_key: str) -> str | None:
    """The process whose effective_yaml shows a key that cannot change; None: none."""
    processes = settings.programs(process_key) if process_key in settings.entries() else []
    if command == "emulate":
        return "air" if "emulator" in processes else None
    return "air" if "medium" in processes else "base" if "macd" in processes else None


def table(command: str) -> dict[str, Control]:
    """All keys of a `demo` or an `emulate` cell, in the order of the table: {key: Control}."""
    found, views = {}, settings.views(command, running=True)
    for key in settings.entries():
        if not {command, f"{command}-live"} & set(settings.programs(key)):
            continue
        live = settings.column(key, "live", views)
        s = settings.setting(key, command, running=bool(live))
        process_key = settings.column(key, "own_key", views) or settings.entries()[key].get(
            "like", key
        )
        why = "" if live else settings.column(key, "fixed", views) or BUILT_WITH
        found[key] = Control(
            **vars(s),
            process=live or owner(command, process_key),
            process_key=process_key,
            why_not=why,
        )
    return found


def describe(kind_of_cell: str | None = None) -> dict[str, Any]:
    """The controls for JSON, of both kinds of cell unless one is named."""
    kinds = [kind_of_cell] if kind_of_cell else list(CELLS)
    return {
        "version": 1,
        "cells": {
            k: [
                c.describe()
                | {"path_key": path_key(ANY_PATH, c.key) if k == "demo" and of_a_path(c) else None}
                for c in table(k).values()
            ]
            for k in kinds
        },
    }


def find(rows: dict[str, Control], key: str) -> Control:
    """The control of a key. Raises BadInput naming what is near."""
    if key in rows:
        return rows[key]
    import difflib

    last = [k for k in rows if k.split(".")[-1] == key]
    near = last or difflib.get_close_matches(key, rows, 1)
    if near:
        raise BadInput(f"{key}: unknown key; did you mean {near[0]}?")
    group = [k for k in rows if k.startswith(key.split(".")[0] + ".")]
    raise BadInput(
        f"{key}: unknown key; valid:"
        f" {', '.join(group or [k for k, c in rows.items() if not c.why_not])}"
    )
