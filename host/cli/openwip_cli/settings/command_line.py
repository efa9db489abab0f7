# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a command. Whatever is wrong with one is said in one line: option, value, what would be valid."""
import argparse

from ..errors import BadInput


class Parser(argparse.ArgumentParser):
    """Of ./openwip COMMAND. `cell`: it is about one cell, of this name unless --name says another."""

    def __init__(self, command, description=None, cell=None, **more):
        super().__init__(prog=f"./openwip {command}", allow_abbrev=False, description=description, **more)
        if cell:
            self.add_argument("--name", type=check_cell_name, default=cell, help=f"name of the cell (default {cell})")

    def error(self, message):
        raise BadInput(f"{message} (see {self.prog} --help)")

    def value(self, flag, kind, **more):
        """An option of a kind of settings/kinds.py."""
        self.add_argument(flag, type=lambda text: read(flag, kind, text), **more)


def read(flag, kind, text):
    try:
        return kind.read(text)
    except (ValueError, TypeError, OverflowError):
        raise BadInput(f"{flag} is {text!r}; valid: {kind.valid}") from None


def check_cell_name(name):
    if not (1 <= len(name) <= 12 and name.isascii() and name.isalnum() and name == name.lower()):
        raise BadInput(f"--name is {name!r}; valid: 1..12 lower-case letters and digits")
    return name
