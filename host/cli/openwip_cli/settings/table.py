# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of settings (mac/schema/settings.yaml, which says what its columns mean), as a
command sees it: its options and scenario file, and what a running cell takes."""

import contextlib
import dataclasses
import functools
import json
import pathlib
import sys
from typing import Any

import yaml

from .kinds import (
    ON_OFF,
    Choice,
    ChoiceOrExtension,
    ChoiceOrFile,
    Extension,
    Impairments,
    Integer,
    Kind,
    NumberOrWord,
    Numbers,
    Optional,
    Ports,
    Real,
    Text,
    TextOrFile,
)

Views = tuple[str, ...]  # under which names a column of its own may stand, the first one first

FILE = pathlib.Path(__file__).resolve().parents[4] / "mac/schema/settings.yaml"
# command -> program whose columns hold where the command has none of its own
COMMANDS = {"demo": "medium", "emulate": "emulator", "tcp-l": "tcpl"}
CELLS = ("demo", "emulate")
INHERITED = ("type", "range", "unit", "words", "choices", "check", "least", "default", "most")


@dataclasses.dataclass
class Setting:
    key: str  # name in a scenario file
    flag: str | None  # option on the command line; None: in a scenario file only
    kind: Kind
    default: Any
    help: str
    unit: str = ""


@functools.cache
def tree() -> dict[str, Any]:
    """Every value a text, as yaml-cpp reads it. It takes 20 ms: for the many runs of a campaign it
    is kept as what Python compiles is."""
    kept = pathlib.Path(
        sys.pycache_prefix or "/dev/null", f"settings-{FILE.stat().st_mtime_ns}.json"
    )
    with contextlib.suppress(OSError, ValueError):
        return dict(json.loads(kept.read_text()))
    found = dict(
        yaml.load(FILE.read_text(encoding="utf-8"), getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    )
    with contextlib.suppress(OSError):
        kept.write_text(json.dumps(found))  # half of it is no JSON
    return found


def entries() -> dict[str, dict[str, Any]]:
    return tree()["settings"]


def views(command: str, running: bool = False) -> Views:
    return ("running",) * running + (
        (command, COMMANDS[command]) if command in COMMANDS else (command,)
    )


def column(key: str, name: str, of: Views) -> Any:
    """The text, list or mapping in a column of a setting; empty: not given. `of`: views()."""
    entry = entries()[key]
    for columns in (*(entry.get(view, {}) for view in of), entry):
        if name in columns:
            return columns[name]
    return column(entry["like"], name, of) if "like" in entry and name in INHERITED else ""


def kind_of(key: str, of: Views) -> Kind:
    def value(name: str) -> Any:
        return column(key, name, of)

    type_ = value("type")
    if type_ == "boolean":
        return ON_OFF
    if type_ == "choice":
        return (
            ChoiceOrFile(tuple(value("choices")), tuple(value("files")))
            if value("files")
            else ChoiceOrExtension(*value("choices"))
            if value("check") == "extension"
            else Choice(*value("choices"), earlier=value("earlier") or None)
        )
    if type_ == "impairments":
        names: dict[str, list[str] | None] = {}
        for name, what in tree()["impairments"].items():
            names |= {what["short"]: None} if "short" in what else {}
            names[name] = what["fields"]
        return Impairments(names)
    if type_ == "text":
        return (
            Ports()
            if value("check") == "split_ports"
            else Extension()
            if value("check") == "extension"
            else TextOrFile(tuple(value("files")))
            if value("files")
            else Text()
        )
    low, _, high = value("range").partition("..")
    least = float(value("least") or 0) if float(low) == 0 else 0
    number: Any = (Integer if type_.startswith("integer") else Real)(float(low), float(high), least)
    if type_ in ("integers", "reals"):
        return Numbers(number, int(value("most")))
    if value("words"):
        number = NumberOrWord(number, tuple(value("words")))
    return Optional(number, value("none")) if value("none") else number


def setting(key: str, command: str, running: bool = False) -> Setting:
    of = views(command, running)
    kind, default = kind_of(key, of), column(key, "default", of)
    default = (
        kind.read(default) if default else [] if isinstance(kind, (Numbers, Impairments)) else None
    )
    valid = "; ".join(
        filter(None, (column(key, "help", of), (zero := column(key, "zero", of)) and f"0: {zero}"))
    )
    return Setting(
        key, column(key, "flag", of) or None, kind, default, valid, column(key, "unit", of)
    )


def programs(key: str) -> list[str]:
    return entries()[key]["in"]


def keys_of(program: str) -> list[str]:
    return [key for key in entries() if program in programs(key)]


@functools.cache
def settings_of(command: str) -> list[Setting]:
    """The settings that a command takes, in the order of the table."""
    return [setting(key, command) for key in keys_of(command)]


def process_keys(process: str, command: str) -> dict[str, str]:
    """{key of the process: key of the command} of all settings that the command passes to the
    process."""
    own = keys_of(process)
    pairs = (
        (key if key in own else entries()[key].get("like", key), key) for key in keys_of(command)
    )
    return {process_key: key for process_key, key in pairs if process_key in own}


def nested(values: dict[str, Any]) -> dict[str, Any]:
    """{"link.bins": 3} as {"link": {"bins": 3}}."""
    root: dict[str, Any] = {}
    for key, value in values.items():
        *path, leaf = key.split(".")
        node = root
        for name in path:
            node = node.setdefault(name, {})
        node[leaf] = value
    return root


def names_of(program: str) -> dict[str, str]:
    """{name: key} of a program whose keys have its name before them."""
    return {key.removeprefix(f"{program}."): key for key in keys_of(program)}


def experiments() -> dict[str, tuple[str, str]]:
    """{name in an experiment: (key, words)}."""
    return {
        name: (key, words)
        for key, entry in entries().items()
        for name, words in entry.get("experiment", {}).items()
    }
