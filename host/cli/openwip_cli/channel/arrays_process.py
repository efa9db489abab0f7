# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that reads a file of arrays without rights (machine/confined.py), started by
array_file.py. MATLAB's files before 7.3 need SciPy, HDF5 needs h5py."""

from ..machine import confined
from ..machine.places import Places


def main(arguments: list[str], _places: Places) -> int:
    """arguments: the number of the descriptor of a file."""

    def load() -> confined.Parser:
        from . import arrays

        return arrays.parser

    return confined.serve(int(arguments[0]), load)
