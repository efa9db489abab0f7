# SPDX-License-Identifier: GPL-3.0-or-later
"""A screen for tests of GNU Radio Companion, with the environment of ./openwip grc."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import screen                              # noqa: E402
from screen import end                     # noqa: E402, F401

TOP = pathlib.Path(__file__).resolve().parents[2]
GRAPHS = TOP / "flowgraphs" / "grc"
BUILD = pathlib.Path(os.environ.get("OPENWIP_BUILD", TOP / "build"))


def missing():
    return screen.missing("gnuradio-companion")


class Screen(screen.Screen):
    def __init__(self):
        super().__init__(also={
            "GR_CONF_CONTROLPORT_ON": "False", "GR_CONF_GRC_XTERM_EXECUTABLE": "/bin/true",
            "GRC_BLOCKS_PATH": str(TOP / "blocks" / "grc"), "OPENWIP_BUILD": str(BUILD), "OPENWIP_NO_BUILD": "1",
            "PYTHONPATH": str(BUILD / "python"), "UHD_MODULE_PATH": str(BUILD / "uhd_modules")})
