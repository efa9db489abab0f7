# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of an experiment file (flowgraphs/scenarios/experiments/A1.yaml), read, or refused with the
file and the key."""

import pathlib
from collections.abc import Iterable
from typing import Any

from ..errors import BadInput, not_valid
from ..settings.command_line import read
from ..settings.scenario import read_yaml
from .settings import SETTINGS


def read_tree(path: pathlib.Path) -> dict[str, Any]:
    tree = read_yaml("experiment file", path)
    if not isinstance(tree, dict):
        raise BadInput(f"experiment file {path} is no mapping; valid: a mapping of keys to values")
    return tree


def check_parts(path: pathlib.Path | str, tree: Iterable[str], known: Iterable[str]) -> None:
    for name in tree:
        if name not in known:
            raise BadInput(
                f"experiment file {path}: unknown key {name}; valid: {', '.join(sorted(known))}"
            )


def read_setting(path: pathlib.Path, name: str, value: Any) -> Any:
    if name not in SETTINGS:
        raise BadInput(
            f"experiment file {path}: unknown setting {name}; valid: {', '.join(SETTINGS)}"
        )
    return read(f"experiment file {path}: {name}", SETTINGS[name].kind, value)


def read_settings(path: pathlib.Path, given: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise not_valid(
            f"experiment file {path}: settings", given, "a mapping of settings to values"
        )
    return {name: read_setting(path, name, value) for name, value in given.items()}


def read_whole(place: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise not_valid(place, repr(value), f"{low}..{high}")
    return value
