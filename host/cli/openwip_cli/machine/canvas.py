# SPDX-License-Identifier: GPL-3.0-or-later
"""Matplotlib, which draws to files. It is imported here and nowhere else.

Matplotlib writes a list of fonts into a folder of its user as it is imported, and complains on
standard error where it cannot. A user without a writable home gets a folder for that time."""

import contextlib
import logging
import os
import pathlib
from collections.abc import Iterator

from . import scratch

FOLDER = "MPLCONFIGDIR"  # the environment variable with Matplotlib's folder
# The variables with the folders in which Matplotlib otherwise makes its own, and their defaults.
PARENTS = {"XDG_CONFIG_HOME": ".config", "XDG_CACHE_HOME": ".cache"}


def has_folder() -> bool:
    """Matplotlib can make the folders that it would use, or the user has named one."""
    if os.environ.get(FOLDER):
        return True
    try:
        for name, default in PARENTS.items():
            parent = os.environ.get(name) or pathlib.Path.home() / default
            folder = pathlib.Path(parent, "matplotlib")
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                return False
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        return False
    return True


@contextlib.contextmanager
def own_folder() -> Iterator[None]:
    """For the time of the import, if there is none. Later Matplotlib writes nothing into it."""
    if has_folder():
        yield
        return
    with scratch.folder() as made:
        os.environ[FOLDER] = str(made)
        try:
            yield
        finally:
            del os.environ[FOLDER]


# It says after 5 s that it looks for fonts, and of each missing font that it takes another.
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
with own_folder():
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import colors
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Axes", "Figure", "colors", "matplotlib", "plt"]
