# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that reads a record without rights (machine/confined.py), started by RunRecord. It
needs NumPy and h5py only."""

from ..machine import confined
from ..machine.places import Places


def main(arguments: list[str], _places: Places) -> int:
    """arguments: the number of the descriptor of a record."""

    def load() -> confined.Parser:
        from . import contents  # h5py

        return contents.parser

    return confined.serve(int(arguments[0]), load)
