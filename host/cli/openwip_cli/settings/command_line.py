# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a command. Whatever is wrong with one is said in one line: option, value, what would be valid."""
import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import BadInput, shown
from .kinds import Kind, with_unit
from .table import Setting


class Parser(argparse.ArgumentParser):
    """Of ./openwip COMMAND. `cell`: it is about one cell, of this name unless --name says another."""

    def __init__(self, command: str, description: str | None = None, cell: str | None = None, **more: Any) -> None:
        super().__init__(prog=f"./openwip {command}", allow_abbrev=False, description=description, **more)
        if cell:
            self.add_argument("--name", type=check_cell_name, default=cell, help=f"name of the cell (default {cell})")

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see {self.prog} --help)")

    def said(self, given: argparse.Namespace) -> list[str]:
        """What of it was given another value than its default, in the order of the help."""
        return [(a.option_strings or [a.dest])[-1] for a in self._actions if getattr(given, a.dest, a.default) not in (a.default, [])]

    def value(self, flag: str, kind: Kind, **more: Any) -> None:
        """An option of a kind of settings/kinds.py."""
        self.add_argument(flag, type=lambda text: read(flag, kind, text), **more)

    def setting(self, s: Setting, **more: Any) -> None:
        """An option that is one of the table, but for what `more` says: default, kind, help."""
        kind, default, text = more.pop("kind", s.kind), more.pop("default", s.default), more.pop("help", s.help)
        said = "" if default is None else f" (default {default:.10g})" if isinstance(default, float) else f" (default {default})"
        self.value(str(s.flag), kind, metavar="X", default=default, help=f"{text}; {with_unit(kind, s.unit)}{said}".replace("%", "%%"), **more)


def run_command(name: str, usage: str, commands: dict[str, Callable[..., int]], arguments: list[str], *more: Any) -> int:
    """One of several of a name; the exit code."""
    command, *rest = arguments or ["--help"]
    if command in ("-h", "--help", "help"):
        print(usage)
        return 0
    if command not in commands:
        raise BadInput(f"{name} {command}: valid is {', '.join(commands)}")
    return commands[command](rest, *more)


def check_cell_name(name: str) -> str:
    if not (1 <= len(name) <= 12 and name.isascii() and name.isalnum() and name == name.lower()):
        raise BadInput(f"--name is {name!r}; valid: 1..12 lower-case letters and digits")
    return name


def read(where: str, kind: Kind, value: Any) -> Any:
    """BadInput says where it is, what it is, and what would be valid."""
    try:
        return kind.read(value)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{where} is {shown(repr(value))}; valid: {kind.valid}") from None
