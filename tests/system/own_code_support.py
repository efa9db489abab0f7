# SPDX-License-Identifier: GPL-3.0-or-later
"""Code of a user's own for the tests: a scheduler in Python that gives all bins to the first terminal,
and the making of a library as the how-to page has it."""

import shutil
import subprocess

FIRST_TERMINAL = """
class First:
    def __init__(self, cell):
        pass
    def share_bins(self, slot):
        for bin in range(slot.bins):
            if slot.users[0].wants:
                slot.give(0, bin)
"""


def make_library(source, headers):
    """SOURCE.cpp -> SOURCE.so, with the page's options; warnings are errors here."""
    subprocess.run(
        [
            shutil.which("g++") or "c++",
            *("-std=c++20", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"),
            *("-I", headers, source, "-o", source.with_suffix(".so")),
        ],
        check=True,
    )
